package hopper

import (
	"math"
	"strings"
	"testing"

	"heddle/internal/pareto"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/policy/stages"
	"heddle/yarn/records"
)

var one = records.NewResource(1024, 1)

// told is a policy of a leaf of 100 slots, and what it is told of applications.
type told struct {
	t *testing.T
	*Policy
	views map[handle.App]*leaf.App
	notes map[handle.Container]*leaf.Note
	next  handle.Container
	now   int64
}

func tell(t *testing.T) *told {
	return &told{t: t, Policy: New(), views: map[handle.App]*leaf.App{}, notes: map[handle.Container]*leaf.Note{}, now: 1000}
}

func (w *told) view(h handle.App, typ string) *leaf.App {
	if w.views[h] == nil {
		w.views[h] = &leaf.App{Handle: h, Seq: int64(h) + 1, Type: typ, User: "u", Weight: 1, Used: &records.Resource{}, Pending: &records.Resource{}}
	}
	return w.views[h]
}

// ask has an application ask for so many containers at a priority. It is for one priority at a time.
func (w *told) ask(h handle.App, typ string, priority int32, count int32) {
	a := w.view(h, typ)
	*a.Pending = one.Times(int64(count))
	w.Asked(leaf.Ask{App: *a, Priority: priority, Count: count, Capability: one})
}

// grant gives it one of them.
func (w *told) grant(h handle.App, typ string, priority int32, left int32) handle.Container {
	a := w.view(h, typ)
	a.Containers++
	*a.Used, *a.Pending = a.Used.Add(one), one.Times(int64(left))
	c := w.next
	w.next++
	w.notes[c] = new(leaf.Note)
	w.Granted(*a, leaf.Grant{Container: c, Note: w.notes[c], Resource: one, Since: w.now, Ask: leaf.Ask{App: *a, Priority: priority, Count: left, Capability: one}})
	return c
}

func (w *told) end(h handle.App, c handle.Container, failed bool) {
	a := w.view(h, "")
	a.Containers--
	*a.Used = a.Used.Sub(one)
	w.Ended(*a, leaf.Node{}, leaf.Outcome{Container: c, Note: *w.notes[c], Resource: one, Failed: failed})
}

// tick lets time pass, so that the leaf is divided.
func (w *told) tick(ms int64) []handle.App {
	w.now += ms
	used := records.Resource{}
	for _, a := range w.views {
		used = used.Add(*a.Used)
	}
	return w.Tick(w.now, leaf.Queue{Used: used, Free: one.Times(100).Sub(used), Types: 2})
}

func (w *told) expect(h handle.App, why, want string) {
	w.t.Helper()
	w.tick(1000)
	if got := w.Standing(*w.view(h, "")); !strings.HasPrefix(got, want) {
		w.t.Errorf("%s: got %q, want %q", why, got, want)
	}
}

// MapReduce's tasks are its maps, pending and running ones, and then its reduces.
func TestTasksOfMapReduceByCounts(t *testing.T) {
	w := tell(t)
	w.ask(0, stages.Type, 0, 1)
	w.expect(0, "before its ApplicationMaster runs", "")
	w.grant(0, stages.Type, 0, 0)
	w.expect(0, "nothing but its ApplicationMaster", "")
	w.ask(0, stages.Type, 20, 10)
	w.expect(0, "10 maps", "virtual size 16.7: 10 tasks, β 1.2, α 1; 0 slots")
	var maps []handle.Container
	for left := int32(9); left >= 0; left-- {
		maps = append(maps, w.grant(0, stages.Type, 20, left))
	}
	w.expect(0, "10 maps run", "virtual size 16.7: 10 tasks")
	for _, c := range maps[:4] {
		w.end(0, c, false)
	}
	w.expect(0, "6 maps are left", "virtual size 10.0: 6 tasks")
	w.ask(0, stages.Type, 10, 4)
	w.expect(0, "reduces don't count before the maps have ended", "virtual size 10.0: 6 tasks, β 1.2, α 1;")
	w.Outputs(*w.view(0, stages.Type), 4, 4000)
	// Nothing is read: 10 outputs, of which 6 are still to be made; (10/6)^0.3 is 1.17.
	w.expect(0, "outputs are known", "virtual size 10.8: 6 tasks, β 1.2, α 1.2;")
	w.end(0, maps[4], true)
	w.ask(0, stages.Type, 5, 1)
	w.expect(0, "one has failed, and runs again", "virtual size 10.8: 6 tasks")
	w.ask(0, stages.Type, 5, 0)
	for _, c := range maps[5:] {
		w.end(0, c, false)
	}
	w.ask(0, stages.Type, 10, 4)
	w.expect(0, "the reduces", "virtual size 6.7: 4 tasks, β 1.2, α 1;")
}

// Others' tasks are their containers; of an application that reports they are what it says.
func TestTasksOfOthers(t *testing.T) {
	w := tell(t)
	w.ask(0, "SPARK", 0, 1)
	w.grant(0, "SPARK", 0, 0)
	w.ask(0, "SPARK", 1, 3)
	w.grant(0, "SPARK", 1, 2)
	w.expect(0, "one executor runs, two are asked for", "virtual size 5.0: 3 tasks")
	w.Reported(*w.view(0, "SPARK"), leaf.TaskReport{Left: 2})
	w.expect(0, "two tasks are left", "virtual size 3.3: 2 tasks")
	w.Reported(*w.view(0, "SPARK"), leaf.TaskReport{Left: 1})
	w.expect(0, "as small as what it has and asks for allows", "virtual size 3.0: 2 tasks")
	w.Reported(*w.view(0, "SPARK"), leaf.TaskReport{Left: 3, ToRead: 4, ToMake: 1, Beta: 1.52, Ended: 50})
	w.expect(0, "what it says of its tasks", "virtual size 4.9: 3 tasks, β 1.5, α 1.5;")
	w.Reported(*w.view(0, "SPARK"), leaf.TaskReport{Left: 3, Beta: 1.5, Ended: 49})
	w.expect(0, "too few tasks have ended", "virtual size 5.0: 3 tasks, β 1.2, α 1;")
	w.Left(0)
	w.views = map[handle.App]*leaf.App{}
	w.expect(0, "after it has left", "")
}

// What ran before the leaf had this policy counts for the phase that runs.
func TestContainersFromBefore(t *testing.T) {
	w := tell(t)
	a := w.view(0, stages.Type)
	a.Containers, *a.Used = 8, one.Times(8)
	w.ask(0, stages.Type, 20, 5)
	w.expect(0, "7 maps run already", "virtual size 20.0: 12 tasks")
}

// ApplicationMasters that ran before the leaf had this policy aren't slots: of 100, two have 20 each.
func TestMastersFromBefore(t *testing.T) {
	w := tell(t)
	for h := range handle.App(2) {
		a := w.view(h, "SPARK")
		a.Containers, *a.Used = 1, one.Times(20)
		w.ask(h, "SPARK", 1, 100)
	}
	w.expect(0, "nobody knows what the ApplicationMasters have", "virtual size 166.7: 100 tasks, β 1.2, α 1; 0 slots kept for copies; 0 applications are smaller; it has 0 of its 55 slots")
	for h := range handle.App(2) {
		w.Master(*w.view(h, ""), one.Times(20))
	}
	w.expect(0, "they have 20 each", "virtual size 166.7: 100 tasks, β 1.2, α 1; 0 slots kept for copies; 0 applications are smaller; it has 0 of its 33 slots")
	a := w.view(1, "")
	a.Containers, *a.Used = 0, records.Resource{}
	w.Ended(*a, leaf.Node{}, leaf.Outcome{Container: 1000, Resource: one.Times(20)})
	w.expect(0, "one has ended", "virtual size 166.7: 100 tasks, β 1.2, α 1; 0 slots kept for copies; 0 applications are smaller; it has 0 of its 44 slots")
	w.Left(0)
	delete(w.views, 0)
	w.expect(1, "the other one has left", "virtual size 166.7: 100 tasks, β 1.2, α 1; 0 slots kept for copies; 0 applications are smaller; it has 0 of its 100 slots")
}

// An application for which the others leave no slot is told so, and not that it has none of none.
func TestNoSlotIsLeft(t *testing.T) {
	w := tell(t)
	w.Configure(map[string]float64{epsilon: 1})
	w.ask(0, "SPARK", 1, 70)
	w.ask(1, "SPARK", 1, 80)
	w.tick(1000)
	const text = "0 slots kept for copies; 1 applications are smaller; there is no slot left for it"
	if got := w.Standing(*w.view(1, "")); !strings.HasSuffix(got, text) {
		t.Errorf("%q", got)
	}
	w.grant(1, "SPARK", 1, 79)
	w.tick(1000)
	if got := w.Standing(*w.view(1, "")); !strings.HasSuffix(got, text+", and it has 1 of others") {
		t.Errorf("%q", got)
	}
}

func TestAlphaIsWithinBounds(t *testing.T) {
	w := tell(t)
	w.Configure(map[string]float64{dampening: 1})
	w.ask(0, "SPARK", 1, 3)
	w.Reported(*w.view(0, "SPARK"), leaf.TaskReport{Left: 3, ToMake: 10})
	w.expect(0, "nothing to read", "virtual size 1.6: 3 tasks, β 1.2, α 0.1;")
	w.Reported(*w.view(0, "SPARK"), leaf.TaskReport{Left: 3, ToRead: 1000, ToMake: 10})
	w.expect(0, "very much to read", "virtual size 15.8: 3 tasks, β 1.2, α 10;")
	w.Configure(map[string]float64{dampening: 0})
	w.expect(0, "α is not regarded", "virtual size 5.0: 3 tasks, β 1.2, α 1;")
	w.ask(1, stages.Type, 20, 3)
	w.grant(1, stages.Type, 10, 1) // a reduce runs, another one is asked for
	w.Configure(map[string]float64{dampening: 1, alpha: 4})
	w.expect(1, "no outputs are known", "virtual size 10.0: 3 tasks, β 1.2, α 4;")
	w.Outputs(*w.view(1, ""), 1, 0)
	w.expect(1, "there are none", "virtual size 1.6: 3 tasks, β 1.2, α 0.1;")
}

// quantileOf is a quantile of the distribution with shape b, from 1 s on.
func quantileOf(b, q float64) float64 { return math.Pow(1-q, -1/b) }

func TestShapeOfDurations(t *testing.T) {
	for _, b := range []float64{1.1, 1.2, 1.5, 1.8} {
		var w window
		for i := range pareto.WindowSize {
			w.add(quantileOf(b, (float64(i)+.5)/pareto.WindowSize), false)
		}
		if got := w.shape(1.2); math.Abs(got-b) > .051 {
			t.Errorf("β is %v, found %v", b, got)
		}
		// Copies end all that take longer than 5 s: those count with the 5 s that they had.
		var cut, naive window
		for i := range pareto.WindowSize {
			x := quantileOf(b, (float64(i)+.5)/pareto.WindowSize)
			cut.add(min(x, 5), x > 5)
			naive.add(min(x, 5), false)
		}
		if got := cut.shape(1.2); math.Abs(got-b) > .051 {
			t.Errorf("β is %v, found %v of tasks that were cut off", b, got)
		}
		if got := naive.shape(1.2); got < b+.09 && b < 1.8 {
			t.Errorf("β is %v, found %v where nobody knows that tasks were cut off", b, got)
		}
	}
	var few window
	for i := range enough - 1 {
		few.add(quantileOf(1.8, float64(i)/enough), false)
	}
	if got := few.shape(1.2); got != 1.2 {
		t.Errorf("of too few tasks β is %v", got)
	}
	var even, wild window
	for i := range pareto.WindowSize {
		even.add(1, false)
		wild.add(math.Pow(10, float64(i%9)), false)
	}
	if got := []float64{even.shape(1.2), wild.shape(1.2)}; math.Abs(got[0]-mostBeta) > 1e-9 || math.Abs(got[1]-leastBeta) > 1e-9 {
		t.Errorf("β of tasks that all take the same time, and of very different ones: %v", got)
	}
}

// A user's tasks that have ended tell β of the user's jobs, those of other users don't.
func TestShapeIsLearnedByUser(t *testing.T) {
	w := tell(t)
	w.view(1, "SPARK").User = "v"
	w.ask(0, "SPARK", 1, 3)
	w.ask(1, "SPARK", 1, 3)
	for i := range 60 {
		c := w.grant(0, "SPARK", 1, 3)
		w.tick(int64(1000 * quantileOf(1.6, (float64(i)+.5)/60)))
		w.end(0, c, false)
		w.tick(0)
	}
	w.expect(0, "after 60 tasks", "virtual size 3.8: 3 tasks, β 1.6,")
	w.expect(1, "of another user", "virtual size 5.0: 3 tasks, β 1.2,")
}

// Those below their floors come before those that are smaller, while a job that had everything gives it back task by task.
func TestFloorsComeFirst(t *testing.T) {
	w := tell(t)
	w.ask(0, "SPARK", 1, 100)
	for left := int32(99); left >= 0; left-- {
		w.grant(0, "SPARK", 1, left)
	}
	w.ask(1, "SPARK", 1, 60)
	w.ask(2, "SPARK", 1, 80)
	for range 29 { // the floor is 30
		w.grant(1, "SPARK", 1, 50)
	}
	w.tick(100)
	ratio := func(h handle.App) float64 { return w.Ratio(*w.view(h, "")) }
	if !(ratio(1) < ratio(2)) {
		t.Errorf("below their floors the smaller one isn't first: %v and %v", ratio(1), ratio(2))
	}
	w.grant(1, "SPARK", 1, 50)
	if !(ratio(2) < ratio(1) && ratio(1) < ratio(0)) {
		t.Errorf("one has its floor, the other not, and the third has all: %v, %v and %v", ratio(1), ratio(2), ratio(0))
	}
}

// Slots are kept from when tasks begin until they are old enough, whatever an ApplicationMaster says later, and not for longer than a minute.
func TestHowLongSlotsAreKept(t *testing.T) {
	w := tell(t)
	w.ask(0, "SPARK", 1, 4)
	w.Reported(*w.view(0, "SPARK"), leaf.TaskReport{Left: 4, Copies: true, Young: 4, Detection: 3000})
	w.ask(1, "SPARK", 1, 200)
	w.tick(5000)
	if w.keeps != 2 {
		t.Errorf("%d slots are kept for tasks that wait", w.keeps)
	}
	w.tick(2500)
	for left := int32(3); left >= 0; left-- {
		w.grant(0, "SPARK", 1, left)
	}
	w.tick(2000)
	if w.keeps != 2 || w.Due() == 0 {
		t.Errorf("%d slots are kept for tasks that have just begun, until %d", w.keeps, w.Due())
	}
	if got := w.Cap(*w.view(1, "")); got != leaf.Uncapped() {
		t.Errorf("the other, below its floor, may have %v", got)
	}
	for range 50 {
		w.grant(1, "SPARK", 1, 150)
	}
	w.tick(0)
	other := w.Cap(*w.view(1, ""))
	if want := one.Times(100 - 4 - 2); other != want {
		t.Errorf("the other may have %v, want %v", other, want)
	}
	if got := w.Cap(*w.view(0, "")); got != leaf.Uncapped() {
		t.Errorf("it may have %v itself", got)
	}
	changed := w.tick(3000)
	if w.keeps != 0 || len(changed) != 2 || w.Cap(*w.view(1, "")) != leaf.Uncapped() {
		t.Errorf("%d slots are kept for tasks that are old enough; %v have changed", w.keeps, changed)
	}
	w.Reported(*w.view(0, ""), leaf.TaskReport{Left: 4, Copies: true, Young: 1, Detection: math.MaxInt64})
	w.tick(1)
	if w.keeps != 1 {
		t.Errorf("%d slots are kept for one young task", w.keeps)
	}
	if w.tick(longestDetection); w.keeps != 0 {
		t.Errorf("%d slots are kept for more than a minute", w.keeps)
	}
	w.Reported(*w.view(0, ""), leaf.TaskReport{Left: 4, Young: 4, Detection: 3000})
	if w.tick(1); w.keeps != 0 {
		t.Errorf("%d slots are kept for copies that nobody makes", w.keeps)
	}
}

// Of the first 3 % the job with most local tasks has its turn, until all its tasks have begun.
func TestLocality(t *testing.T) {
	w := tell(t)
	local := map[handle.App]int64{1: 1, 2: 3, 5: 100}
	asked := 0
	w.Locate(func(h handle.App) int64 { asked++; return local[h] })
	w.Configure(map[string]float64{locality: 3, epsilon: 1})
	for h := range handle.App(100) { // ordered by their tasks
		w.ask(h, "SPARK", 1, 2+int32(h))
	}
	w.tick(1000)
	ratio := func(h handle.App) float64 { return w.Ratio(*w.view(h, "")) }
	if !(ratio(2) < ratio(0) && ratio(0) < ratio(1) && ratio(1) < ratio(5)) || asked != 3 {
		t.Errorf("the turns of 0, 1, 2 and 5 are %v, %v, %v and %v; %d were asked", ratio(0), ratio(1), ratio(2), ratio(5), asked)
	}
	local[1] = 50
	for left := int32(3); left > 0; left-- {
		w.grant(2, "SPARK", 1, left)
		w.tick(100)
		if !(ratio(2) < ratio(1)) {
			t.Error("it loses its turn before all its tasks have begun")
		}
	}
	w.grant(2, "SPARK", 1, 0)
	w.tick(100)
	if !(ratio(1) < ratio(0)) {
		t.Error("the next one with local tasks isn't first")
	}
}
