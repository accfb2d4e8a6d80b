package heartbeat

import (
	"reflect"
	"slices"
	"testing"

	"heddle/nm/nodeattributes"
	"heddle/nm/nodelabels"
	"heddle/nm/warming"
	"heddle/yarn/pb"
)

// A method that has the name of an event and isn't the event's would never be called.
func TestFeaturesHearOfTheirEvents(t *testing.T) {
	f := New(Options{
		Labels: &nodelabels.Provider{}, Attributes: &nodeattributes.Provider{}, Outputs: &left{}, Warming: &warming.Warmer{},
		ShortTasks: struct{ ShortTasks }{}, Logs: struct{ LogReports }{}, System: func([]*pb.SystemCredentialsForApps) error { return nil },
	}).features
	kinds := map[reflect.Type][]any{
		reflect.TypeFor[registeringFeature](): anys(f.registering), reflect.TypeFor[registeredFeature](): anys(f.registered),
		reflect.TypeFor[reportingFeature](): anys(f.reporting), reflect.TypeFor[deliveredFeature](): anys(f.delivered),
		reflect.TypeFor[lostFeature](): anys(f.lost), reflect.TypeFor[applyingFeature](): anys(f.applying), reflect.TypeFor[appEndedFeature](): anys(f.appEnded),
	}
	all := map[any]bool{}
	for _, heard := range kinds {
		for _, x := range heard {
			all[x] = true
		}
	}
	if len(all) < 11 {
		t.Errorf("only %d features were found", len(all))
	}
	for x := range all {
		for event, heard := range kinds {
			if _, named := reflect.TypeOf(x).MethodByName(event.Method(0).Name); named && !slices.Contains(heard, x) {
				t.Errorf("%T has a method %s that isn't that of %v", x, event.Method(0).Name, event)
			}
		}
	}
}

func anys[F any](list []F) (out []any) {
	for _, f := range list {
		out = append(out, f)
	}
	return out
}
