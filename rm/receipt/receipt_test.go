package receipt

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/rm/ledger"
	"heddle/rm/ledger/course"
	"heddle/rm/view"
	"heddle/yarn/records"
)

// task is a container of which each step takes a second but the work.
func task(id int64, asked, granted, ended int64) view.ContainerTimes {
	return view.ContainerTimes{
		ID: records.ContainerID{ID: id}, Priority: 20, Asked: asked, Granted: granted, Accepted: granted + 1000, Localized: granted + 2000, Started: granted + 3000, Ended: ended,
	}
}

// app is an application that was accepted after a second, had its master's container at 2 s, and registered at 6 s.
func app(finished int64, containers ...view.ContainerTimes) *Application {
	master := task(1, 1000, 2000, finished)
	master.AM = true
	return &Application{Submitted: 0, Finished: finished, Attempts: []view.AttemptTimes{{Asked: 1000, Registered: 6000, Finished: finished}}, Containers: append([]view.ContainerTimes{master}, containers...)}
}

// preparing lives, and its container's files were there at a time; 0: they aren't.
func preparing(localized int64) *Application {
	return app(0, view.ContainerTimes{ID: records.ContainerID{ID: 2}, Priority: 20, Asked: 6000, Granted: 6000, Accepted: 7000, Localized: localized})
}

func seconds(steps []Step) map[Kind]float64 {
	all := map[Kind]float64{}
	for _, s := range Sums(steps) {
		all[s.Kind] = float64(s.MS) / 1000
	}
	return all
}

func TestWhereTimeWent(t *testing.T) {
	before := map[Kind]float64{Accepting: 1, AwaitsMaster: 1, Handing: 1, Localizing: 1, Starting: 1, Registering: 1}
	with := func(more map[Kind]float64) map[Kind]float64 {
		all := map[Kind]float64{}
		for k, v := range before {
			all[k] = v
		}
		for k, v := range more {
			all[k] += v
		}
		return all
	}
	suspended := task(3, 6000, 6000, 29_000)
	suspended.Suspended = []ledger.Span{{From: 10_000, To: 15_000}, {From: 20_000, To: 22_000}}
	lost := task(2, 6000, 6000, 19_000)
	lost.Exit = records.ExitPreempted
	slow := []view.ContainerTimes{task(2, 6000, 6000, 14_000), task(3, 6000, 6000, 15_000), task(4, 6000, 6000, 16_000), task(5, 6000, 6000, 39_000)}
	slowNode := slices.Clone(slow)
	for i, end := range []int64{35_000, 34_000} {
		x := task(int64(6+i), 6000, 6000, end)
		x.Node = records.NodeID{Host: "slow"}
		slowNode = append(slowNode, x)
	}
	for i, end := range []int64{15_000, 15_000, 15_000} {
		slowNode = append(slowNode, task(int64(8+i), 6000, 6000, end))
	}
	slowNode[3].Node = records.NodeID{Host: "slow"}
	throttled := slices.Clone(slow)
	throttled[3].Starved = 25_000
	starved, busy := task(2, 6000, 6000, 39_000), task(2, 6000, 6000, 39_000)
	starved.Starved, busy.Starved = 28_000, 9_000
	starved.Suspended = []ledger.Span{{From: 10_000, To: 11_000}}
	givenBack := []view.ContainerTimes{task(2, 6000, 6000, 19_000), task(3, 6000, 6000, 20_000), task(4, 6000, 7000, 40_000)}
	givenBack[2].Exit = records.ExitKilledAfterAppCompletion
	for i := range 2 {
		givenBack[i].Exit, givenBack[i].GivenBack = records.ExitAborted, true
	}
	failed := task(2, 6000, 6000, 19_000)
	failed.Localized, failed.Started, failed.Exit = 0, 0, 1
	copied := []view.ContainerTimes{task(2, 6000, 6000, 19_500), task(3, 6000, 6000, 19_000)}
	copied[0].Exit = records.ExitKilledByAppMaster
	executors := []view.ContainerTimes{task(2, 6000, 8000, 31_000), task(3, 6000, 7000, 31_000)}
	executors[0].Exit, executors[1].Exit = records.ExitKilledAfterAppCompletion, records.ExitKilledByResourceManager
	for name, test := range map[string]struct {
		app  *Application
		want map[Kind]float64
	}{
		"no containers":           {app(10_000), with(map[Kind]float64{Master: 4})},
		"one after the other":     {app(30_000, task(2, 6000, 8000, 19_000), task(3, 20_000, 20_000, 29_000)), with(map[Kind]float64{Awaits: 2, Handing: 2, Localizing: 2, Starting: 2, Work: 14, Master: 2})},
		"a full queue":            {app(90_000, task(2, 6000, 6000, 19_000), task(3, 6000, 80_000, 89_000)), with(map[Kind]float64{Awaits: 74, Handing: 1, Localizing: 1, Starting: 1, Work: 6, Master: 1})},
		"suspended":               {app(30_000, suspended), with(map[Kind]float64{Suspended: 7, Handing: 1, Localizing: 1, Starting: 1, Work: 13, Master: 1})},
		"preempted, and again":    {app(30_000, lost, task(3, 19_000, 19_000, 29_000)), with(map[Kind]float64{Lost: 10, Handing: 2, Localizing: 2, Starting: 2, Work: 7, Master: 1})},
		"a straggler":             {app(40_000, slow...), with(map[Kind]float64{Straggling: 24, Handing: 1, Localizing: 1, Starting: 1, Work: 6, Master: 1})},
		"a slow node":             {app(40_000, slowNode...), with(map[Kind]float64{SlowNode: 24, Handing: 1, Localizing: 1, Starting: 1, Work: 6, Master: 1})},
		"a throttled node":        {app(40_000, throttled...), with(map[Kind]float64{SlowNode: 24, Handing: 1, Localizing: 1, Starting: 1, Work: 6, Master: 1})},
		"no processor":            {app(40_000, starved), with(map[Kind]float64{SlowNode: 28, Suspended: 1, Handing: 1, Localizing: 1, Starting: 1, Work: 1, Master: 1})},
		"hardly a processor":      {app(40_000, busy), with(map[Kind]float64{Handing: 1, Localizing: 1, Starting: 1, Work: 30, Master: 1})},
		"executors given back":    {app(40_000, givenBack...), with(map[Kind]float64{Awaits: 1, Handing: 1, Localizing: 1, Starting: 1, Work: 30})},
		"a failed start":          {app(40_000, failed, task(3, 20_000, 20_000, 39_000)), with(map[Kind]float64{FailedStart: 13, Handing: 1, Localizing: 1, Starting: 1, Work: 16, Master: 2})},
		"a copy that came second": {app(20_000, copied...), with(map[Kind]float64{Handing: 1, Localizing: 1, Starting: 1, Work: 10, Master: 1})},
		"executors to the end":    {app(30_000, executors...), with(map[Kind]float64{Awaits: 1, Handing: 1, Localizing: 1, Starting: 1, Work: 20})},
		"forgotten": {func() *Application {
			a := app(30_000, task(9, 20_000, 20_000, 29_000))
			a.Forgotten = 300
			return a
		}(), with(map[Kind]float64{Unknown: 14, Handing: 1, Localizing: 1, Starting: 1, Work: 6, Master: 1})},
		"a second attempt": {func() *Application {
			a := app(50_000)
			a.Attempts = append([]view.AttemptTimes{{Asked: 500, Registered: 700, Finished: 1000}}, a.Attempts...)
			return a
		}(), func() map[Kind]float64 {
			w := with(map[Kind]float64{Master: 44})
			w[Accepting], w[FailedBefore] = .5, .5
			return w
		}()},
		"it waits for its master": {&Application{Submitted: 0, Attempts: []view.AttemptTimes{{Asked: 1000}}}, map[Kind]float64{Accepting: 1, AwaitsMaster: 99}},
		"it waits for a container": {&Application{
			Submitted: 0, Attempts: app(0).Attempts, Waits: "the queue is full", Containers: append(app(0).Containers, task(2, 6000, 6000, 20_000)),
		}, with(map[Kind]float64{Handing: 1, Localizing: 1, Starting: 1, Work: 11, Awaits: 80})},
		"files on the way":     {preparing(0), with(map[Kind]float64{Handing: 1, Localizing: 93})},
		"a process on the way": {preparing(60_000), with(map[Kind]float64{Handing: 1, Localizing: 53, Starting: 40})},
		"a master on the way": {&Application{Submitted: 0, Attempts: []view.AttemptTimes{{Asked: 1000}}, Containers: []view.ContainerTimes{{AM: true, Asked: 1000, Granted: 2000, Accepted: 3000}}}, map[Kind]float64{
			Accepting: 1, AwaitsMaster: 1, Handing: 1, Localizing: 97,
		}},
		"unmanaged": {&Application{Submitted: 0, Finished: 9000, Attempts: []view.AttemptTimes{{Asked: 1000, Registered: 3000}}}, map[Kind]float64{Accepting: 1, Registering: 2, Master: 6}},
	} {
		if diff := cmp.Diff(test.want, seconds(Of(test.app, 100_000))); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// A step says which container it is of, and for whom that was suspended.
func TestStepsNameTheirContainers(t *testing.T) {
	x := task(7, 6000, 6000, 0)
	x.Suspended = []ledger.Span{{From: 50_000, Cause: ledger.Cause{Queue: "root.prod"}}}
	steps := Of(app(0, x), 100_000)
	last := steps[len(steps)-1]
	if last.Kind != Suspended || last.Container.ID != 7 || last.For.Queue != "root.prod" || last.From != 50_000 || last.To != 100_000 {
		t.Errorf("%+v", last)
	}
}

// Whatever records say, the steps follow each other without a gap and sum to the application's time.
func TestStepsSumToTheApplicationsTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Int64Range(0, 100)
		a := &Application{Submitted: at.Draw(t, "submitted"), Finished: at.Draw(t, "finished"), Forgotten: rapid.Int64Range(0, 1).Draw(t, "forgotten")}
		for range rapid.IntRange(0, 3).Draw(t, "attempts") {
			a.Attempts = append(a.Attempts, view.AttemptTimes{Asked: at.Draw(t, "asked"), Registered: at.Draw(t, "registered"), Finished: at.Draw(t, "ended")})
		}
		for i := range rapid.IntRange(0, 12).Draw(t, "containers") {
			c := view.ContainerTimes{
				ID: records.ContainerID{ID: int64(i)}, AM: rapid.Bool().Draw(t, "master"), Priority: rapid.Int32Range(0, 2).Draw(t, "priority"),
				Asked: at.Draw(t, "asked"), Granted: at.Draw(t, "granted"), Accepted: at.Draw(t, "accepted"), Localized: at.Draw(t, "localized"), Started: at.Draw(t, "started"),
				Ended: at.Draw(t, "ended"), GivenBack: rapid.Bool().Draw(t, "given back"), Starved: rapid.Int64Range(0, 200).Draw(t, "starved"), Exit: rapid.SampledFrom([]int32{0, 0, 0, 1, -102, -105, -106}).Draw(t, "exit"),
			}
			for range rapid.IntRange(0, 3).Draw(t, "suspensions") {
				c.Suspended = append(c.Suspended, ledger.Span{From: at.Draw(t, "from"), To: at.Draw(t, "to")})
			}
			a.Containers = append(a.Containers, c)
		}
		a.Course = &course.Course{TasksLost: rapid.Int64Range(0, 1).Draw(t, "tasks lost")}
		for range rapid.IntRange(0, 5).Draw(t, "waits") {
			a.Course.Waits = append(a.Course.Waits, course.Wait{At: at.Draw(t, "noted"), Priority: rapid.Int32Range(0, 2).Draw(t, "of"), Limit: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "limit"), Begins: rapid.Bool().Draw(t, "begins")})
		}
		for range rapid.IntRange(0, 8).Draw(t, "tasks") {
			a.Course.Tasks = append(a.Course.Tasks, course.Task{
				Container: rapid.Int64Range(0, 12).Draw(t, "in"), Index: rapid.Int32Range(0, 3).Draw(t, "index"), Outcome: rapid.SampledFrom([]course.Outcome{0, 0, 1, 2}).Draw(t, "outcome"),
				Reduce: rapid.Bool().Draw(t, "reduce"), Copy: rapid.Bool().Draw(t, "copy"), Remote: rapid.Bool().Draw(t, "remote"),
				From: at.Draw(t, "from"), To: at.Draw(t, "to"), Fetched: at.Draw(t, "fetched"),
			})
		}
		const now = 100
		end := a.Finished
		if end == 0 {
			end = now
		}
		steps := Of(a, now)
		from := a.Submitted
		for i, s := range steps {
			if s.From != from || s.To <= s.From {
				t.Fatalf("step %d is from %d to %d, and the one before ended at %d: %s", i, s.From, s.To, from, fmt.Sprintf("%+v", steps))
			}
			from = s.To
		}
		if want := max(end, a.Submitted); from != want {
			t.Fatalf("steps end at %d, the application at %d: %+v", from, want, steps)
		}
	})
}
