package flow

import (
	"testing"

	"heddle/yarn/records"
)

func TestOf(t *testing.T) {
	id := records.ApplicationID{ClusterTimestamp: 1700000000000, ID: 7}
	for _, x := range []struct {
		name string
		tags []string
		want Flow
	}{
		{"wordcount", nil, Flow{"wordcount", "1", 5}},
		{"", nil, Flow{"flow_1700000000000_7", "1", 5}},
		{"N/A", nil, Flow{"flow_1700000000000_7", "1", 5}},
		{"wordcount", []string{"nightly", "timeline_flow_name_tag:etl: daily", "TIMELINE_FLOW_VERSION_TAG:3", "timeline_flow_run_id_tag:42"}, Flow{"etl: daily", "3", 42}},
		{"wordcount", []string{"timeline_flow_name_tag:", "timeline_flow_run_id_tag:none"}, Flow{"wordcount", "1", 5}},
	} {
		got := Of(id, x.name, x.tags, 5)
		if got != x.want {
			t.Errorf("%q %q: %+v, want %+v", x.name, x.tags, got, x.want)
		}
		env := map[string]string{}
		for v := got.Variables(); len(v) > 0; v = v[2:] {
			env[v[0]] = v[1]
		}
		if back := Parse(func(name string) string { return env[name] }); back != got {
			t.Errorf("%+v comes back as %+v", got, back)
		}
	}
}
