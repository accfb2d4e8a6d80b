package leader

import (
	"reflect"
	"slices"
	"testing"
)

// Each part with a method for an event hears of it. The parts are the fields of the leader, of what all parts share, and of those parts: a new one that isn't entered
// in New fails here.
func TestPartsHearOfEvents(t *testing.T) {
	run(t, func(w *world) { eachHears(t, w.Leader) })
}

func eachHears(t *testing.T, l *Leader) {
	t.Helper()
	kinds := []struct {
		event reflect.Type
		heard []any
	}{
		{reflect.TypeFor[nodeJoinedPart](), anys(l.events.joined)},
		{reflect.TypeFor[nodeBeginsPart](), anys(l.events.begins)},
		{reflect.TypeFor[nodeRegisteredPart](), anys(l.events.registered)},
		{reflect.TypeFor[nodeHeardPart](), anys(l.events.heard)},
		{reflect.TypeFor[nodeLeftPart](), anys(l.events.left)},
		{reflect.TypeFor[appBeganPart](), anys(l.events.began)},
		{reflect.TypeFor[appEndedPart](), anys(l.events.ended)},
		{reflect.TypeFor[tickPart](), anys(l.events.ticks)},
	}
	parts := 0
	for part, field := range partsOf(l) {
		for _, k := range kinds {
			if !part.Implements(k.event) {
				continue
			}
			parts++
			if !slices.ContainsFunc(k.heard, func(p any) bool { return is(reflect.TypeOf(p), part) }) {
				t.Errorf("%s (%v) has a method for %v and doesn't hear of it: enter it in leader.New", field, part, k.event)
			}
		}
	}
	if parts < 20 {
		t.Errorf("only %d methods for events were found", parts)
	}
}

func anys[P any](list []P) (out []any) {
	for _, p := range list {
		out = append(out, p)
	}
	return out
}

// partsOf are the types of the leader's fields, of its core's, and of those of the parts of this package, with a name each.
func partsOf(l *Leader) map[reflect.Type]string {
	out := map[reflect.Type]string{}
	var walk func(of reflect.Type)
	walk = func(of reflect.Type) {
		for i := range of.NumField() {
			f := of.Field(i)
			if _, known := out[f.Type]; known || f.Type.Kind() != reflect.Pointer || f.Type.Elem().Kind() != reflect.Struct {
				continue
			}
			out[f.Type] = of.Name() + "." + f.Name
			if f.Type.Elem().PkgPath() == of.PkgPath() {
				walk(f.Type.Elem())
			}
		}
	}
	walk(reflect.TypeOf(l).Elem())
	delete(out, reflect.TypeOf(l))
	return out
}

// is reports whether a part is of a type, or has it embedded.
func is(part, of reflect.Type) bool {
	if part == of {
		return true
	}
	if part.Kind() == reflect.Pointer {
		part = part.Elem()
	}
	if part.Kind() != reflect.Struct {
		return false
	}
	for i := range part.NumField() {
		if f := part.Field(i); f.Anonymous && is(f.Type, of) {
			return true
		}
	}
	return false
}
