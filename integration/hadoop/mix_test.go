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

// BenchmarkMixUnderStagePolicies runs two wordcounts and two terasorts at once, unmodified, in a queue without a stage policy, with FRESH and with OMO. The
// queues take turns in each round; b.N is the number of rounds. It logs each run, and reports medians in seconds: of the makespan, and of the
// mean time of the four jobs. How much room stood free while containers were pending it tells in container-seconds, of 512 MB: what heartbeats
// take is among it.
//
//	go test -run '^$' -bench MixUnderStagePolicies -benchtime 3x -v ./integration/hadoop
func BenchmarkMixUnderStagePolicies(b *testing.B) {
	l := lab.Lab(b)
	if !onHeddle {
		b.Skip("Hadoop has no stage policies")
	}
	const maps, rows = 8, 400_000
	path, err := l.Jar("hadoop-mapreduce-examples")
	if err != nil {
		b.Fatal(err)
	}
	sizes := []string{"-Dyarn.app.mapreduce.am.resource.mb=512", "-Dmapreduce.map.memory.mb=512", "-Dmapreduce.reduce.memory.mb=512", "-Dmapreduce.task.io.sort.mb=64"}
	run := func(name string, args ...string) error {
		_, err := l.Run(b.Context(), append(slices.Concat([]string{"hadoop", "jar", path, name}, sizes), args...)...)
		return err
	}
	in := text(20_000)
	for i := range maps {
		l.Put(b, fmt.Sprintf("/mix/text/%d", i), in)
	}
	if err := run("teragen", fmt.Sprintf("-Dmapreduce.job.maps=%d", maps), fmt.Sprint(rows), "/mix/rows"); err != nil {
		b.Fatal(err)
	}
	queues := []string{"default", "fresh", "omo"}
	took := map[string][]float64{}
	round := 0
	for b.Loop() {
		for _, queue := range queues {
			var jobs errgroup.Group
			var times [4]float64
			began := time.Now()
			watched, stop := context.WithCancel(b.Context())
			var watch errgroup.Group
			idle := 0.
			watch.Go(func() (err error) {
				idle, err = idleWhilePending(watched, l, 512)
				return err
			})
			for i := range times {
				jobs.Go(func() error {
					args := []string{"wordcount", "/mix/text"}
					if i%2 == 1 {
						args = []string{"terasort", "/mix/rows"}
					}
					err := run(args[0], "-Dmapreduce.job.queuename="+queue, "-Dmapreduce.job.reduce.slowstart.completedmaps=0.05", "-Dmapreduce.job.reduces=2",
						args[1], fmt.Sprintf("/mix/%s-%d-%d", queue, round, i))
					times[i] = time.Since(began).Seconds()
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
			b.Logf("round %d, %s: makespan %.1f s, mean job %.1f s; %.0f container-seconds idle while some were pending", round+1, queue, makespan, mean, idle)
			took[queue] = append(took[queue], makespan)
			took[queue+"-mean"] = append(took[queue+"-mean"], mean)
			took[queue+"-idle"] = append(took[queue+"-idle"], idle)
		}
		round++
	}
	for _, queue := range queues {
		for _, of := range []string{"", "-mean", "-idle"} {
			x := slices.Sorted(slices.Values(took[queue+of]))
			b.ReportMetric(x[len(x)/2], strings.TrimPrefix(queue+of+"-s", "-"))
		}
	}
	b.ReportMetric(0, "ns/op")
}

// idleWhilePending looks at the ResourceManager until ctx ends. It returns for how many container-seconds there was room for containers of some
// MB that were pending.
func idleWhilePending(ctx context.Context, l *hadooplab.Lab, mb float64) (idle float64, err error) {
	for last := time.Now(); pause.For(ctx, time.Second/4) == nil; {
		var m struct {
			ClusterMetrics struct{ AvailableMB, ContainersPending float64 }
		}
		if err := l.Get(context.WithoutCancel(ctx), "rm-http", "/ws/v1/cluster/metrics", &m); err != nil {
			return idle, err
		}
		now := time.Now()
		idle += min(m.ClusterMetrics.AvailableMB/mb, m.ClusterMetrics.ContainersPending) * now.Sub(last).Seconds()
		last = now
	}
	return idle, nil
}
