package conf

import (
	"maps"
	"strings"
	"testing"
	"time"
)

func TestTaskTimes(t *testing.T) {
	const key = "heddle.scheduler.partition.task-times"
	c, err := Load(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c.Set(key, "root.batch=10m, root.quick=1.5s")
	want := map[string]time.Duration{"root.batch": 10 * time.Minute, "root.quick": 1500 * time.Millisecond}
	if got, err := c.TaskTimes(key); err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for text, why := range map[string]string{
		"root.batch": "QUEUE=TIME", "=10m": "QUEUE=TIME", "root.batch=": "QUEUE=TIME", "root.batch=-1s": "QUEUE=TIME", "root.batch=0s": "QUEUE=TIME",
		"a=1s,a=2s": "twice",
	} {
		c.Set(key, text)
		if got, err := c.TaskTimes(key); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
