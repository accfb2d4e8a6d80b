package course

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"heddle/rm/ledger/ledgerpb"
)

// The first and the newest are kept, and the course says between which times some are missing. An earlier course stays as it was.
func TestCoursesAreBounded(t *testing.T) {
	var c *Course
	all := 3 * MaxTasks
	half := (*Course)(nil)
	for i := range all {
		if c = c.With(int64(i+1), &ledgerpb.CourseNoted{
			Waits: []*ledgerpb.CourseWait{{Priority: int32(i), Limit: "free", Begins: i%2 == 0}}, Tasks: []*ledgerpb.CourseTask{{Index: int32(i)}},
		}); i == MaxTasks {
			half = c
		}
	}
	if len(c.Waits) != MaxWaits || c.Waits[0].At != 1 || c.Waits[MaxWaits-1].At != int64(all) {
		t.Errorf("%d waits: %+v", len(c.Waits), c.Waits)
	}
	if first, next := c.Waits[MaxWaits/2-1].At, c.Waits[MaxWaits/2].At; c.LostFrom != first+1 || c.LostTo != next-1 {
		t.Errorf("those between %d and %d are said to be missing: %d to %d are", c.LostFrom, c.LostTo, first+1, next-1)
	}
	if len(c.Tasks) != MaxTasks || c.Tasks[0].Index != 0 || c.Tasks[MaxTasks-1].Index != int32(all-1) || c.TasksLost != int64(all-MaxTasks) {
		t.Errorf("%d tasks, %d lost", len(c.Tasks), c.TasksLost)
	}
	if last := half.Tasks[MaxTasks-1].Index; last != MaxTasks {
		t.Errorf("the earlier course ends with task %d", last)
	}
}

func TestHeld(t *testing.T) {
	var c *Course
	if c.Held() != nil || c.Record() != nil || Read(nil) != nil {
		t.Error("nothing is something")
	}
	for _, w := range []*ledgerpb.CourseWait{{Priority: 1, Limit: "free"}, {Priority: 2, Limit: "order"}, {Priority: 1, Limit: "user-limit"}, {Priority: 2}} {
		c = c.With(1, &ledgerpb.CourseNoted{Waits: []*ledgerpb.CourseWait{w}})
	}
	if got := c.Held(); !reflect.DeepEqual(got, map[int32]string{1: "user-limit"}) {
		t.Errorf("%v", got)
	}
}

// A snapshot's record brings back the same course.
func TestRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &Course{
			LostFrom: rapid.Int64().Draw(t, "from"), LostTo: rapid.Int64().Draw(t, "to"), TasksLost: rapid.Int64().Draw(t, "lost"),
			Waits: rapid.SliceOfN(rapid.Make[Wait](), 1, 3).Draw(t, "waits"), Tasks: rapid.SliceOfN(rapid.Make[Task](), 1, 3).Draw(t, "tasks"),
		}
		if got := Read(c.Record()); !reflect.DeepEqual(got, c) {
			t.Fatalf("%+v\nhas become\n%+v", c, got)
		}
	})
}

// Many tasks that are told at once leave what they leave one by one.
func TestTasksToldTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var together, single *Course
		index := int32(0)
		for range rapid.IntRange(1, 6).Draw(t, "calls") {
			var all []*ledgerpb.CourseTask
			for range rapid.IntRange(0, 2*MaxTasks).Draw(t, "tasks") {
				x := &ledgerpb.CourseTask{Index: index}
				index++
				all = append(all, x)
				single = single.With(1, &ledgerpb.CourseNoted{Tasks: []*ledgerpb.CourseTask{x}})
			}
			before, held := together, fmt.Sprint(together)
			together = together.With(1, &ledgerpb.CourseNoted{Tasks: all})
			if fmt.Sprint(before) != held {
				t.Fatal("the course before has changed")
			}
		}
		if index > 0 && fmt.Sprintf("%+v", together) != fmt.Sprintf("%+v", single) {
			t.Fatalf("together %+v, one by one %+v", together, single)
		}
	})
}
