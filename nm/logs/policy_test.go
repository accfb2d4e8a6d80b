package logs

import (
	"testing"

	"heddle/yarn/records"
)

func containerID(t testing.TB, s string) records.ContainerID {
	t.Helper()
	id, err := records.ParseContainerID(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// By ContainerId.hashCode of Hadoop 3.4.2.
func TestHash(t *testing.T) {
	for s, want := range map[string]int32{
		"container_1795253712789_0001_01_000001":     198466535,
		"container_1795253712789_0001_01_000025":     198467279,
		"container_e02_1795253712789_0001_01_000007": 198482593,
		"container_1795253712789_0077_03_000025":     224890277,
		"container_1_0001_01_000001":                 -1219638178,
		"container_e02_1_0001_03_000007":             -1219622118,
	} {
		if got := hash(containerID(t, s)); got != want {
			t.Errorf("%s: %d, want %d", s, got, want)
		}
	}
}

func TestPolicies(t *testing.T) {
	ends := []Ended{
		{Master: true}, {}, {ExitCode: 1}, {ExitCode: 137}, {ExitCode: 143}, {ExitCode: -105}, {ExitCode: -109}, {Master: true, ExitCode: 137},
	}
	for class, want := range map[string]string{
		"":                                            "11111111",
		"AllContainerLogAggregationPolicy":            "11111111",
		"NoneContainerLogAggregationPolicy":           "00000000",
		"AMOnlyLogAggregationPolicy":                  "10000001",
		"FailedContainerLogAggregationPolicy":         "00100110",
		"FailedOrKilledContainerLogAggregationPolicy": "00111111",
		"AMOrFailedContainerLogAggregationPolicy":     "10100111",
		"LimitSizeContainerLogAggregationPolicy":      "00000010",
		"org.apache.hadoop.yarn.server.nodemanager.containermanager.logaggregation.AMOnlyLogAggregationPolicy": "10000001",
	} {
		p, err := NewPolicy(class, "")
		if err != nil {
			t.Error(err)
			continue
		}
		got := ""
		for _, e := range ends {
			got += map[bool]string{true: "1", false: "0"}[p(e)]
		}
		if got != want {
			t.Errorf("%s: %s, want %s", class, got, want)
		}
	}
	if _, err := NewPolicy("com.example.Mine", ""); err == nil {
		t.Error("an unknown policy was taken")
	}
}

func TestSamplePolicy(t *testing.T) {
	share := func(parameters string) (taken int, first int) {
		p, err := NewPolicy("SampleContainerLogAggregationPolicy", parameters)
		if err != nil {
			t.Fatal(err)
		}
		id := containerID(t, "container_1795253712789_0001_01_000002")
		first = -1
		for ; id.ID < 10002; id.ID++ {
			if p(Ended{ID: id}) {
				taken++
			} else if first < 0 {
				first = int(id.ID)
			}
		}
		return taken, first
	}
	for parameters, want := range map[string][2]int{
		"":              {2000, 22}, // 20, and every fifth of the others
		"SR:0.5,MIN:0":  {5000, 2},
		"SR:0, MIN:100": {100, 102},
		"SR:2,MIN:-1,x": {2000, 22},
		"SR:1":          {10000, -1},
	} {
		taken, first := share(parameters)
		if d := taken - want[0]; d < -30 || d > 30 || first > want[1]+10 || want[1] == -1 && first != -1 || first != -1 && first < want[1] {
			t.Errorf("%q takes %d of 10000, the first not taken is %d; want about %d, %d", parameters, taken, first, want[0], want[1])
		}
	}
	p, _ := NewPolicy("SampleContainerLogAggregationPolicy", "SR:0,MIN:0")
	id := containerID(t, "container_1_0001_01_009999")
	if !p(Ended{ID: id, Master: true}) || !p(Ended{ID: id, ExitCode: 143}) || p(Ended{ID: id}) {
		t.Error("masters and failures are always taken, others never here")
	}
}
