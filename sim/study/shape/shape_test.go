package shape

import "testing"

// A shape may differ in any figure: tasks of a job that don't differ are alike. Other words, and what isn't a number, are refused.
func TestShapesThatDiffer(t *testing.T) {
	x, err := Cloudera.With("within=0+short-mean=5+burst=7+swing=1")
	if err != nil || x.short.mean != 5 || x.burst != 7 || x.swing != 1 || Cloudera.within == 0 {
		t.Fatalf("%+v, %v", x, err)
	}
	for _, j := range x.Trace(50, 1) {
		for _, task := range j.Stages[0].Tasks {
			if task.Duration != j.Estimate {
				t.Errorf("a task takes %v in a job of %v", task.Duration, j.Estimate)
			}
		}
	}
	for _, bad := range []string{"width=1", "within", "within=-1", "within=x", "within=1+"} {
		if _, err := Cloudera.With(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
