package template

import (
	"reflect"
	"testing"
)

// The result is what a stock ResourceManager 3.4.2 shows, sorted by names.
func TestTemplatesOfQueuesMadeOnDemand(t *testing.T) {
	settings := map[string]string{
		"root.man.leaf-queue-template.capacity": "30", "root.man.leaf-queue-template.user-limit-factor": "3",
		"root.flex.auto-queue-creation-v2.template.capacity":               "6w",
		"root.flex.auto-queue-creation-v2.leaf-template.user-limit-factor": "5",
		"root.flex.auto-queue-creation-v2.parent-template.capacity":        "7w",
		"root.*.auto-queue-creation-v2.template.maximum-applications":      "9",
		"root.*.auto-queue-creation-v2.template.capacity":                  "1w",
		"root.flexible.auto-queue-creation-v2.template.maximum-allocation": "x",
		"root.flex.below.auto-queue-creation-v2.template.maximum-capacity": "x",
	}
	for path, want := range map[string]Creation{
		"root.man": {
			Legacy: true, Leaves: []Setting{{"leaf-queue-template.capacity", "30"}, {"leaf-queue-template.user-limit-factor", "3"}},
			All: []Setting{{"capacity", "1w"}, {"maximum-applications", "9"}},
		},
		"root.flex": {
			Legacy: true, All: []Setting{{"capacity", "6w"}, {"maximum-applications", "9"}}, Parents: []Setting{{"capacity", "7w"}},
			FlexibleLeaves: []Setting{{"user-limit-factor", "5"}},
		},
		"root": {Legacy: true},
	} {
		got := Creation{Legacy: true, Depth: 2}
		got.Of(settings, path)
		if want.Depth = 2; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}
}
