package hadoop

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/integration/timelinereader"
	"heddle/internal/await"
	"heddle/nm/nmtest"
)

// TestTimelineReader runs a MapReduce job of Hadoop's with timeline version 2. A stock reader has the same entities of it as with a stock ResourceManager and
// NodeManager (testdata/timeline2.txt): the ResourceManager's, the node's and the ApplicationMaster's, which writes to the collector beside it.
func TestTimelineReader(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	o := options
	o.HistoryServer, o.TimelineReader = false, true
	o.Site = maps.Clone(o.Site)
	o.Site["yarn.nodemanager.resource-monitor.interval-ms"] = "500"
	l := hadooplab.Start(t, o)
	job := succeed(t, l, example(t, l, "pi"), "-Dmapreduce.job.tags=a,b", "-Dmapreduce.job.emit-timeline-data=true", "2", "10")
	reader := timelinereader.Reader{Lab: l, Get: get}
	flow := reader.Flow(t, job.app)
	await.Slowly(t, "the end of the job and of its containers is published", func() bool {
		apps, containers := reader.Entities(t, job.app, flow, "YARN_APPLICATION"), reader.Entities(t, job.app, flow, "YARN_CONTAINER")
		return strings.Contains(fmt.Sprint(apps), "YARN_APPLICATION_FINISHED") && strings.Count(fmt.Sprint(containers), "YARN_CONTAINER_FINISHED ") >= 4 &&
			strings.Contains(fmt.Sprint(reader.Entities(t, job.app, flow, "MAPREDUCE_JOB")), "JOB_FINISHED")
	})
	got := reader.Shapes(t, job.app, flow)
	if want := ofStock(t, "testdata/timeline2.txt", got); got != want {
		t.Errorf("published:\n%s\nwant\n%s", got, want)
	}
}

// TestTimelineOutlivesKills kills the JVM with the collectors and then the node while a job runs. The ApplicationMaster and the node find the new collectors, and the
// reader has all of the job in the end; also that its map was suspended and resumed.
func TestTimelineOutlivesKills(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	if !onHeddle {
		t.Skip("a stock node's collectors die with it, and with their application's part of the history")
	}
	nmtest.RealGroups(t)
	o := options
	o.HistoryServer, o.TimelineReader = false, true
	o.Site = maps.Clone(o.Site)
	maps.Copy(o.Site, map[string]string{"yarn.nodemanager.recovery.enabled": "true", "yarn.nodemanager.recovery.supervised": "true"})
	l := hadooplab.Start(t, o)
	c, app := begin(t, l, sleeper, "-Dmapreduce.job.emit-timeline-data=true", "-m", "1", "-r", "1", "-mt", "90000", "-rt", "10")
	reader := timelinereader.Reader{Lab: l, Get: get}
	flow := reader.Flow(t, app)
	has := func(kind string, want ...string) {
		t.Helper()
		await.Slowly(t, fmt.Sprint(want, " is published"), func() bool {
			all := fmt.Sprint(reader.Entities(t, app, flow, kind))
			return !slices.ContainsFunc(want, func(one string) bool { return !strings.Contains(all, one) })
		})
	}
	task := strings.Replace(app, "application", "container", 1) + "_01_000002"
	has("YARN_CONTAINER", task, "YARN_CONTAINER_CREATED")
	node := l.Daemon("nodemanager1")
	if err := node.WaitLog(t.Context(), task+" transitioned from SCHEDULED to RUNNING"); err != nil {
		t.Fatal(err)
	}
	has("MAPREDUCE_JOB", "JOB_SUBMITTED") // what is under way at the kill, Hadoop's client in the ApplicationMaster gives up after a while
	has("MAPREDUCE_TASK", "TASK_STARTED")
	first := hadooplab.ServicesJVM(t, l, 0)
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second := hadooplab.ServicesJVM(t, l, first)
	control(t, l, task, "suspend")
	control(t, l, task, "resume")
	has("YARN_CONTAINER", "YARN_CONTAINER_PAUSED", "YARN_CONTAINER_RESUMED")
	node.Kill()
	if err := node.Restart(); err != nil {
		t.Fatal(err)
	}
	hadooplab.ServicesJVM(t, l, second)
	if j := end(t, c, app); j.Code != 0 {
		t.Fatal(j.Stderr)
	}
	has("YARN_APPLICATION", "YARN_APPLICATION_CREATED", "YARN_APPLICATION_FINISHED")
	has("YARN_APPLICATION_ATTEMPT", "YARN_APPLICATION_ATTEMPT_REGISTERED", "YARN_APPLICATION_ATTEMPT_FINISHED")
	has("MAPREDUCE_JOB", "JOB_SUBMITTED", "JOB_FINISHED")
	has("MAPREDUCE_TASK", "TASK_STARTED", "TASK_FINISHED")
	await.Slowly(t, "each container has its end and its beginning", func() bool {
		list := reader.Entities(t, app, flow, "YARN_CONTAINER")
		whole := 0
		for _, e := range list {
			if all := fmt.Sprint(e["events"]); strings.Contains(all, "YARN_CONTAINER_CREATED") && strings.Contains(all, "YARN_CONTAINER_FINISHED") {
				whole++
			}
		}
		return whole == 3 && len(list) == 3
	})
}
