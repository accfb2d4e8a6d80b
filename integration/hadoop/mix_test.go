package hadoop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/integration/hadooplab"
	"heddle/internal/pause"
)

// mixQueues are queues that differ in nothing but their stage policies. Each may have all of the cluster, and as many ApplicationMasters at a time as
// the mix has jobs: a queue without a share of its own would let in one after the other.
var mixQueues = []string{"none", "fresh", "omo"}

// small are settings of jobs whose containers have 512 MB, of which the node has room for ten.
var small = []string{"-Dyarn.app.mapreduce.am.resource.mb=512", "-Dmapreduce.map.memory.mb=512", "-Dmapreduce.reduce.memory.mb=512", "-Dmapreduce.task.io.sort.mb=64"}

func mixLab(b testing.TB) *hadooplab.Lab {
	b.Helper()
	const capacity = "yarn.scheduler.capacity.root."
	site := map[string]string{
		"yarn.nodemanager.resource.memory-mb":  "5120",
		"yarn.nodemanager.resource.cpu-vcores": "100", // memory is what is scarce
		"mapreduce.map.speculative":            "false",
		"mapreduce.reduce.speculative":         "false",
		"mapreduce.job.maps":                   "1",
		capacity + "queues":                    "default," + strings.Join(mixQueues, ","),
		capacity + "default.capacity":          "1",
	}
	for _, queue := range mixQueues {
		site[capacity+queue+".capacity"] = "33"
		site[capacity+queue+".user-limit-factor"] = "-1"
		site[capacity+queue+".maximum-am-resource-percent"] = "1"
		site[capacity+queue+".heddle-stage-policy"] = queue
	}
	return hadooplab.Start(b, hadooplab.Options{DataNodes: 1, ResourceManager: true, NodeManagers: 1, Heddle: options.Heddle, Site: site})
}

// BenchmarkMixUnderStagePolicies runs two wordcounts and a terasort at once, unmodified, in a queue without a stage policy, with FRESH and with OMO.
// The queues take turns in each round, and another one begins each; b.N is the number of rounds. It logs each run, and reports medians in seconds: of the
// makespan, and of the mean time of the three jobs. How much room stood free while containers were pending it tells in container-seconds, of 512 MB: what heartbeats
// take is among it.
//
//	go test -run '^$' -bench MixUnderStagePolicies -benchtime 3x -v ./integration/hadoop
func BenchmarkMixUnderStagePolicies(b *testing.B) {
	if !onHeddle {
		b.Skip("Hadoop has no stage policies")
	}
	l := mixLab(b)
	const maps, rows = 4, 200_000
	path, err := l.Jar("hadoop-mapreduce-examples")
	if err != nil {
		b.Fatal(err)
	}
	run := func(name string, args ...string) (job, error) {
		r, err := l.Try(b.Context(), "", append(slices.Concat([]string{"hadoop", "jar", path, name}, small), args...)...)
		if err == nil && r.Code != 0 {
			err = fmt.Errorf("%s: exit code %d\n%s", name, r.Code, r.Stderr)
		}
		return job{Result: r}, err
	}
	in := text(10_000)
	for i := range maps {
		l.Put(b, fmt.Sprintf("/mix/text/%d", i), in)
	}
	if _, err := run("teragen", "-Dmapreduce.job.queuename=none", fmt.Sprintf("-Dmapreduce.job.maps=%d", maps), fmt.Sprint(rows), "/mix/rows"); err != nil {
		b.Fatal(err)
	}
	took := map[string][]float64{}
	round := 0
	for b.Loop() {
		for i := range mixQueues {
			queue := mixQueues[(i+round)%len(mixQueues)]
			var jobs errgroup.Group
			var times, maps, reduces [3]float64
			began := time.Now()
			watched, stop := context.WithCancel(b.Context())
			var watch errgroup.Group
			var seen standing
			watch.Go(func() (err error) {
				seen, err = idleWhilePending(watched, l, 512)
				return err
			})
			for i := range times {
				jobs.Go(func() error {
					args := []string{"wordcount", "/mix/text"}
					if i%2 == 1 {
						args = []string{"terasort", "/mix/rows"}
					}
					j, err := run(args[0], "-Dmapreduce.job.queuename="+queue, "-Dmapreduce.job.reduce.slowstart.completedmaps=0.05", "-Dmapreduce.job.reduces=2",
						args[1], fmt.Sprintf("/mix/%s-%d-%d", queue, round, i))
					times[i] = time.Since(began).Seconds()
					maps[i] = float64(j.counter("Total time spent by all map tasks (ms)")) / 1000
					reduces[i] = float64(j.counter("Total time spent by all reduce tasks (ms)")) / 1000
					return err
				})
			}
			err := jobs.Wait()
			stop()
			if err := errors.Join(err, watch.Wait()); err != nil {
				b.Fatal(err)
			}
			makespan, mean := slices.Max(times[:]), 0.
			for _, t := range times {
				mean += t / float64(len(times))
			}
			b.Logf("round %d, %s: makespan %.1f s, jobs %.1f s, mean %.1f s; maps took %.0f s, reduces %.0f s; %.0f container-seconds idle while some were pending, %.0f s of jobs without a master",
				round+1, queue, makespan, times, mean, maps, reduces, seen.idle, seen.queued)
			took[queue] = append(took[queue], makespan)
			took[queue+"-mean"] = append(took[queue+"-mean"], mean)
			took[queue+"-idle"] = append(took[queue+"-idle"], seen.idle)
		}
		round++
	}
	for _, queue := range mixQueues {
		for _, of := range []string{"", "-mean", "-idle"} {
			x := slices.Sorted(slices.Values(took[queue+of]))
			b.ReportMetric(x[len(x)/2], strings.TrimPrefix(queue+of+"-s", "-"))
		}
	}
	b.ReportMetric(0, "ns/op")
}

// standing is what stood still.
type standing struct {
	idle   float64 // container-seconds for which there was room for containers that were pending
	queued float64 // job-seconds before the ResourceManager let them start their masters
}

// idleWhilePending looks at the ResourceManager until ctx ends. A container has some MB.
func idleWhilePending(ctx context.Context, l *hadooplab.Lab, mb float64) (x standing, err error) {
	for last := time.Now(); pause.For(ctx, time.Second/4) == nil; {
		var m struct {
			ClusterMetrics struct{ AvailableMB, ContainersPending, AppsPending float64 }
		}
		if err := l.Get(context.WithoutCancel(ctx), "rm-http", "/ws/v1/cluster/metrics", &m); err != nil {
			return x, err
		}
		now := time.Now()
		x.idle += min(m.ClusterMetrics.AvailableMB/mb, m.ClusterMetrics.ContainersPending) * now.Sub(last).Seconds()
		x.queued += m.ClusterMetrics.AppsPending * now.Sub(last).Seconds()
		last = now
	}
	return x, nil
}
