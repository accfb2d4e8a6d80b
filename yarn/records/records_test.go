package records

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/yarn/pb"
)

func TestIDText(t *testing.T) {
	app := ApplicationID{ClusterTimestamp: 1795253712789, ID: 7}
	attempt := AttemptID{App: app, Attempt: 2}
	for _, c := range []struct{ got, want string }{
		{app.String(), "application_1795253712789_0007"},
		{ApplicationID{ClusterTimestamp: 5, ID: 123456}.String(), "application_5_123456"},
		{attempt.String(), "appattempt_1795253712789_0007_000002"},
		{ContainerID{attempt, 1}.String(), "container_1795253712789_0007_02_000001"},
		{ContainerID{attempt, 2<<EpochShift | 3}.String(), "container_e02_1795253712789_0007_02_000003"},
		{NodeID{"localhost", 20041}.String(), "localhost:20041"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

func TestIDsSurviveTextAndWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := ContainerID{
			Attempt: AttemptID{
				App: ApplicationID{
					ClusterTimestamp: rapid.Int64Min(0).Draw(t, "timestamp"),
					ID:               rapid.Int32Min(0).Draw(t, "app"),
				},
				Attempt: rapid.Int32Min(0).Draw(t, "attempt"),
			},
			ID: rapid.Int64Range(0, 1<<(EpochShift+23)-1).Draw(t, "id"),
		}
		if got, err := ParseContainerID(id.String()); err != nil || got != id {
			t.Fatalf("%v came back as %v, %v", id, got, err)
		}
		if got, err := ParseAttemptID(id.Attempt.String()); err != nil || got != id.Attempt {
			t.Fatalf("%v came back as %v, %v", id.Attempt, got, err)
		}
		if got, err := ParseApplicationID(id.Attempt.App.String()); err != nil || got != id.Attempt.App {
			t.Fatalf("%v came back as %v, %v", id.Attempt.App, got, err)
		}
		if got := ContainerIDFrom(id.PB()); got != id {
			t.Fatalf("%v came back from the wire as %v", id, got)
		}
	})
}

func TestMalformedIDsAreRefused(t *testing.T) {
	for _, s := range []string{
		"", "application", "application_1", "application_x_1", "application_1_1_1", "application_-1_1",
		"application_1_99999999999", "job_1_1", "application_1_+1", "application_1_",
	} {
		if id, err := ParseApplicationID(s); err == nil {
			t.Errorf("application id %q was read as %v", s, id)
		}
	}
	for _, s := range []string{
		"", "container", "container_1_1_1", "container_e_1_1_1_1", "container_ex_1_1_1_1",
		"container_1_1_1_99999999999999", "container_e99999999999_1_1_1_1",
	} {
		if id, err := ParseContainerID(s); err == nil {
			t.Errorf("container id %q was read as %v", s, id)
		}
	}
	for _, s := range []string{"", "host", ":1", "host:", "host:x", "host:65536", "host:-1"} {
		if id, err := ParseNodeID(s); err == nil {
			t.Errorf("node id %q was read as %v", s, id)
		}
	}
}

func TestResourceOnTheWire(t *testing.T) {
	types, err := NewResourceTypes(ResourceType{Name: "yarn.io/gpu"}, ResourceType{Name: "disk", Units: "Gi"})
	if err != nil {
		t.Fatal(err)
	}
	r := Resource{1024, 2, 4, 10}
	if got, err := types.From(types.PB(r)); err != nil || got != r {
		t.Errorf("%v came back as %v, %v", r, got, err)
	}
	if got, want := types.Format(r), "<memory:1024, vCores:2, yarn.io/gpu: 4, disk: 10Gi>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	// fields 1 and 2 win over the map, and units are converted
	m := types.PB(r)
	m.SetMemory(7)
	m.GetResourceValueMap()[3].SetUnits("Mi")
	m.GetResourceValueMap()[3].SetValue(20480)
	if got, err := types.From(m); err != nil || got != (Resource{7, 2, 4, 20}) {
		t.Errorf("got %v, %v", got, err)
	}

	unknown := &pb.ResourceInformation{}
	unknown.SetKey("yarn.io/fpga")
	unknown.SetValue(1)
	m.SetResourceValueMap(append(m.GetResourceValueMap(), unknown))
	if got, err := types.From(m); err == nil {
		t.Errorf("an unknown type was read as %v", got)
	}
}

func TestResourceTypesAreChecked(t *testing.T) {
	gpu := ResourceType{Name: "yarn.io/gpu"}
	for name, more := range map[string][]ResourceType{
		"standard name": {{Name: "vcores"}},
		"twice":         {gpu, gpu},
		"no name":       {{}},
		"unit":          {{Name: "a", Units: "furlong"}},
		"too many":      {{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e"}, {Name: "f"}, {Name: "g"}},
	} {
		if _, err := NewResourceTypes(more...); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestConvertUnits(t *testing.T) {
	for _, c := range []struct {
		from, to string
		v, want  int64
	}{
		{"Gi", "Mi", 2, 2048},
		{"Mi", "Gi", 2047, 1},
		{"", "m", 3, 3000},
		{"m", "", 3999, 3},
		{"k", "Ki", 1024, 1000},
		{"Pi", "p", 0, 0},
		{"T", "T", 1 << 62, 1 << 62},
	} {
		if got, err := ConvertUnits(c.from, c.to, c.v); err != nil || got != c.want {
			t.Errorf("%d%s in %q: got %d, %v, want %d", c.v, c.from, c.to, got, err, c.want)
		}
	}
	if v, err := ConvertUnits("Pi", "p", 1<<40); err == nil {
		t.Errorf("overflow was read as %d", v)
	}
}

func FuzzParseIDs(f *testing.F) {
	for _, s := range []string{
		"application_1_0001", "appattempt_1_0001_000001", "container_1_0001_01_000001", "container_e17_1_0001_01_000001", "host:1",
		"application_-0_1", "container_e+1_1_1_1_1", "container_e8388607_9223372036854775807_2147483647_2147483647_1099511627775", "[::1]:65535",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		survives(t, s, ParseApplicationID)
		survives(t, s, ParseAttemptID)
		survives(t, s, ParseContainerID)
		survives(t, s, ParseNodeID)
	})
}

// survives fails the test unless an id that can be read is the same when it is written and read again, and has no sign in it.
func survives[ID interface {
	comparable
	String() string
}](t *testing.T, s string, parse func(string) (ID, error),
) {
	t.Helper()
	id, err := parse(s)
	if err != nil {
		return
	}
	if again, err := parse(id.String()); err != nil || again != id {
		t.Errorf("%q is %v, which is %v: %v", s, id, again, err)
	}
	if _, node := any(id).(NodeID); !node && strings.ContainsAny(s, "+-") {
		t.Errorf("%q is taken for %v", s, id)
	}
}

func TestAddressesOfNodes(t *testing.T) {
	for want, id := range map[string]NodeID{"n1:8041": {Host: "n1", Port: 8041}, "10.0.0.1:1": {Host: "10.0.0.1", Port: 1}, "[::1]:8041": {Host: "::1", Port: 8041}} {
		if got := id.Address(); got != want {
			t.Errorf("%v is called at %s, want %s", id, got, want)
		}
	}
}
