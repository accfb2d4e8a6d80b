package receipt

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/rm/ledger/course"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/view"
	"heddle/yarn/records"
)

// detailed returns the seconds of each kind and detail.
func detailed(steps []Step) map[string]float64 {
	all := map[string]float64{}
	for _, s := range Sums(steps) {
		name := string(s.Kind)
		if s.Detail != "" {
			name += "/" + s.Detail
		}
		all[name] = float64(s.MS) / 1000
	}
	return all
}

func noted(at, priority int64, limit string, begins bool) course.Wait {
	return course.Wait{At: at, Priority: int32(priority), Limit: limit, Begins: begins}
}

// A wait that is over is divided by the limits that held the request's priority meanwhile.
func TestPastWaitsByLimit(t *testing.T) {
	for name, test := range map[string]struct {
		waits []course.Wait
		lost  [2]int64
		want  map[string]float64
	}{
		"nothing was noted":                      {nil, [2]int64{}, map[string]float64{"waiting": 74}},
		"noted a little late":                    {[]course.Wait{noted(6900, 20, "free", true)}, [2]int64{}, map[string]float64{"waiting/free": 74}},
		"one limit after the other":              {[]course.Wait{noted(6900, 20, "user-limit", true), noted(50_000, 20, "free", false)}, [2]int64{}, map[string]float64{"waiting/user-limit": 44, "waiting/free": 30}},
		"of another priority":                    {[]course.Wait{noted(6900, 10, "user-limit", true), noted(50_000, 20, "free", true)}, [2]int64{}, map[string]float64{"waiting/free": 74}},
		"held by another limit before it waited": {[]course.Wait{noted(2000, 20, "policy", true), noted(5500, 20, "", false), noted(6900, 20, "free", true)}, [2]int64{}, map[string]float64{"waiting/free": 74}},
		"the wait before wasn't over":            {[]course.Wait{noted(2000, 20, "policy", true), noted(16_000, 20, "free", false)}, [2]int64{}, map[string]float64{"waiting/policy": 10, "waiting/free": 64}},
		"it was over, and nothing was noted":     {[]course.Wait{noted(2000, 20, "policy", true), noted(5500, 20, "", false), noted(80_500, 20, "free", true)}, [2]int64{}, map[string]float64{"waiting": 74}},
	} {
		a := app(90_000, task(2, 6000, 6000, 19_000), task(3, 6000, 80_000, 89_000))
		a.Course = &course.Course{Waits: test.waits}
		got := detailed(Of(a, 100_000))
		for _, other := range []string{"accepting", "waiting for master", "handing over", "localizing", "starting", "master starts", "master alone", "work"} {
			delete(got, other)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// Where the middle of a long list is lost, nothing is said of that time.
func TestLostLimitsAreNotGuessed(t *testing.T) {
	var k *course.Course
	for i := range int64(2 * course.MaxWaits) {
		k = k.With(6000+10*i, &ledgerpb.CourseNoted{Waits: []*ledgerpb.CourseWait{{Priority: 20, Limit: []string{"free", "order"}[i%2], Begins: i == 0}}})
	}
	a := app(90_000, task(2, 6000, 80_000, 89_000))
	a.Course = k
	got := detailed(Of(a, 100_000))
	if want := float64(course.MaxWaits*10) / 1000; got["waiting"] != want {
		t.Errorf("nothing is known of %v s, and should be of %v: %v", got["waiting"], want, got)
	}
}

// While it waits for its ApplicationMaster, the most urgent request is the only one.
func TestWaitForTheMasterByLimit(t *testing.T) {
	a := &Application{Submitted: 0, Attempts: []view.AttemptTimes{{Asked: 1000}}, Waits: "queue root.a", Course: &course.Course{Waits: []course.Wait{noted(1500, 1, "am-queue", true), noted(61_000, 1, "free", false)}}}
	steps := Of(a, 100_000)
	if diff := cmp.Diff(map[string]float64{"accepting": 1, "waiting for master/am-queue": 60, "waiting for master/free": 39}, detailed(steps)); diff != "" {
		t.Error(diff)
	}
	if last := steps[len(steps)-1]; last.Why != "queue root.a" || steps[len(steps)-2].Why != "" {
		t.Errorf("%+v", steps)
	}
}

func try(container int64, index int32, from, to int64) course.Task {
	return course.Task{Container: container, Index: index, From: from, To: to}
}

func reduce(t course.Task, fetched int64) course.Task {
	t.Reduce, t.Fetched = true, fetched
	return t
}

// mr is an application whose ApplicationMaster tells of tasks: three containers, on the nodes a, a and b, that start their work at 9 s and live as long as it does.
func mr(tasks ...course.Task) *Application {
	var containers []view.ContainerTimes
	for i, node := range []string{"a", "a", "b"} {
		x := task(int64(i+2), 6000, 6000, 60_000)
		x.Node, x.Exit = records.NodeID{Host: node}, 0
		containers = append(containers, x)
	}
	a := app(60_000, containers...)
	a.Course = &course.Course{Tasks: tasks}
	return a
}

func TestTasksThatAreTold(t *testing.T) {
	copied := try(4, 1, 30_000, 38_000)
	copied.Copy = true
	overtaken := try(3, 1, 10_000, 38_000)
	overtaken.Outcome = course.Ended
	failed := try(2, 0, 10_000, 30_000)
	failed.Outcome = course.Failed
	remote := try(2, 4, 10_000, 40_000)
	remote.Remote = true
	short := func(more ...course.Task) []course.Task {
		for i := range int32(3) {
			more = append(more, try(4, 10+i, 10_000+1000*int64(i), 11_000+1000*int64(i)))
		}
		return more
	}
	for name, test := range map[string]struct {
		tasks []course.Task
		want  map[string]float64
	}{
		"maps, shuffle, reduce":   {[]course.Task{try(2, 0, 10_000, 20_000), try(2, 1, 20_000, 30_000), reduce(try(3, 0, 12_000, 59_000), 40_000)}, map[string]float64{"starting": 2, "maps": 20, "shuffle": 10, "reduces": 19, "master alone": 1}},
		"a reduce after all maps": {[]course.Task{try(2, 0, 10_000, 20_000), reduce(try(2, 0, 25_000, 59_000), 40_000)}, map[string]float64{"starting": 2, "maps": 10, "master alone": 6, "shuffle": 15, "reduces": 19}},
		"a copy that was faster":  {[]course.Task{copied, overtaken}, map[string]float64{"starting": 2, "straggling": 20, "maps/a copy": 8, "master alone": 22}},
		"a try that failed":       {[]course.Task{failed, try(2, 0, 31_000, 40_000)}, map[string]float64{"starting": 2, "lost work": 20, "maps": 9, "master alone": 21}},
		"input on other hosts":    {short(remote), map[string]float64{"starting": 2, "remote input": 29, "maps": 1, "master alone": 20}},
		"a slow node":             {short(try(2, 4, 10_000, 40_000), try(3, 5, 10_000, 35_000)), map[string]float64{"starting": 2, "slow node": 29, "maps": 1, "master alone": 20}},
		"both end at a time":      {[]course.Task{reduce(try(3, 0, 10_000, 40_000), 0), try(2, 0, 20_000, 40_000)}, map[string]float64{"starting": 2, "shuffle": 30, "master alone": 20}},
		"a task that straggles":   {short(try(2, 4, 10_000, 40_000), try(3, 5, 10_000, 11_000)), map[string]float64{"starting": 2, "straggling": 29, "maps": 1, "master alone": 20}},
	} {
		a := mr(test.tasks...)
		got := detailed(Of(a, 100_000))
		for kind, s := range map[string]float64{"accepting": 1, "waiting for master": 1, "handing over": 1, "localizing": 1, "master starts": 1} {
			if got[kind] < s {
				t.Errorf("%s: %s takes %v s", name, kind, got[kind])
			}
			delete(got, kind)
		}
		test.want["waiting for a task"] = 1
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// What a task in a container that is no longer known waited for is found as of any container.
func TestTasksInForgottenContainers(t *testing.T) {
	if got := detailed(Of(mr(try(99, 0, 10_000, 59_000)), 100_000)); got["maps"] != 49 || got["work"] != 1 {
		t.Errorf("%v", got)
	}
}

// Of tasks that run nothing is told yet: the time since the last one is work.
func TestTasksThatRun(t *testing.T) {
	a := mr(try(2, 0, 10_000, 20_000))
	a.Finished = 0
	for i := range a.Containers {
		a.Containers[i].Ended = 0
	}
	if got := detailed(Of(a, 50_000)); got["work"] != 30 || got["maps"] != 10 {
		t.Errorf("%v", got)
	}
}

func TestCopies(t *testing.T) {
	won, lost, ended := try(1, 1, 0, 5), try(1, 1, 3, 9), try(1, 1, 0, 5)
	won.Copy, lost.Copy = true, true
	lost.Outcome, ended.Outcome = course.Ended, course.Ended
	if got := CopiesOf(&course.Course{Tasks: []course.Task{won, lost, ended}}); got != (Copies{Won: 1, Lost: 1, LostMS: 11}) {
		t.Errorf("%+v", got)
	}
}

// A receipt of an application with all that is remembered takes little time: it is found when somebody asks.
func BenchmarkReceipt(b *testing.B) {
	var tasks []course.Task
	for i := range int64(course.MaxTasks) {
		tasks = append(tasks, try(2+i%3, int32(i), 10_000+100*i, 10_100+100*i))
	}
	a := mr(tasks...)
	for i := range int64(200) {
		a.Containers = append(a.Containers, task(10+i, 6000, 6000, 10_000+i))
	}
	b.ReportAllocs()
	for b.Loop() {
		if n := len(Of(a, 100_000)); n < 100 {
			b.Fatal(fmt.Sprint(n, " steps"))
		}
	}
}

// An application with 100,000 containers that live, and as many ended ones as are kept, of which each waited for the one before.
func BenchmarkReceiptOfManyContainers(b *testing.B) {
	a := app(0)
	for i := range int64(200) {
		a.Containers = append(a.Containers, task(10+i, 6000+100*i, 6000+100*i, 6100+100*i))
	}
	for i := range int64(100_000) {
		x := task(1000+i, 6000, 40_000, 0)
		x.Live = true
		a.Containers = append(a.Containers, x)
	}
	b.ReportAllocs()
	for b.Loop() {
		if n := len(Of(a, 100_000)); n < 5 {
			b.Fatal(fmt.Sprint(n, " steps"))
		}
	}
}
