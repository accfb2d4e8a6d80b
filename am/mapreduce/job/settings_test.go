package job

import (
	"strings"
	"testing"

	"heddle/conf"
)

// -D with a key that nobody reads was taken without a word.
func TestSettingsWithoutEffectAreNamed(t *testing.T) {
	for set, want := range map[string]string{
		"mapreduce.map.java.opts=-Xmx1g":                           "no effect on heddle mr, which runs no Java",
		"mapreduce.job.reducs=3":                                   "mapreduce.job.reducs has no effect",
		"mapred.compress.map.output=true":                          "mapred.compress.map.output has no effect",
		"mapreduce.map.speculative=true":                           "-speculation",
		"yarn.resourcemanager.adress=x":                            "did you mean yarn.resourcemanager.address?",
		"mapreduce.job.maps=20":                                    "split.maxsize says how much input a map gets",
		"my.key=value":                                             "",
		"mapred.reduce.tasks=3":                                    "",
		"mapreduce.map.memory.mb=512":                              "",
		"mapreduce.input.fileinputformat.input.dir.recursive=true": "",
	} {
		c, err := conf.Load(conf.Options{Overrides: []string{set}})
		if err != nil {
			t.Fatal(err)
		}
		key, value, _ := strings.Cut(set, "=")
		got := strings.Join(Unused(c, map[string]string{key: value}), "\n")
		if want == "" && got != "" || !strings.Contains(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %q", set, got)
		}
	}
}

func TestSpecRefusesImpossibleSettings(t *testing.T) {
	good := Job{Inputs: []string{"in"}, Output: "out", Mapper: "cat", Reduces: 1}
	for _, c := range []struct {
		set  string
		want string
	}{
		{KeySort + "=0", KeySort},
		{KeySort + "=many", KeySort},
		{KeyMapMemory + "=5", KeyMapMemory},
		{KeySlowStart + "=1.5", KeySlowStart},
		{KeyPriority + "=urgent", KeyPriority},
		{KeyTimeout + "=-1", KeyTimeout},
		{KeyFactor + "=1", KeyFactor},
	} {
		cfg, err := conf.Load(conf.Options{Overrides: []string{c.set}})
		if err != nil {
			t.Fatal(err)
		}
		key, value, _ := strings.Cut(c.set, "=")
		if _, err := NewSpec(good, cfg); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), value) {
			t.Errorf("%s: %v", key, err)
		}
	}
	cfg, err := conf.Load(conf.Options{Overrides: []string{KeyMapMemory + "=-1", KeyPriority + "=high", KeyTimeout + "=0", KeySeparator + "=:"}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSpec(good, cfg)
	if err == nil && s.NodesServe {
		t.Error("nodes without a shuffle service serve outputs")
	}
	if err != nil || s.MapSize.MemoryMB != 1024 || s.Priority != 4 || s.Timeout != 0 || s.Separator != ":" {
		t.Errorf("%+v, %v", s, err)
	}
	again, err := s.Config()
	if err != nil || !again.IsSet(KeyMapMemory) || again.IsSet(KeyReduces) {
		t.Errorf("the configuration doesn't come through: %v", err)
	}
}

func TestNodesServeWhereTheyAreConfiguredTo(t *testing.T) {
	for _, x := range []struct {
		set     []string
		reduces int
		want    bool
	}{
		{nil, 1, false},
		{[]string{"yarn.nodemanager.aux-services=spark_shuffle,mapreduce_shuffle"}, 1, true},
		{[]string{"yarn.nodemanager.aux-services=mapreduce_shuffle"}, 0, false},
		{[]string{"yarn.nodemanager.aux-services=spark_shuffle"}, 1, false},
		{[]string{"yarn.nodemanager.aux-services=mapreduce_shuffle", "mapreduce.shuffle.ssl.enabled=true"}, 1, true},
		{[]string{"yarn.nodemanager.aux-services=mapreduce_shuffle", "mapreduce.shuffle.ssl.enabled=False"}, 1, true},
	} {
		c, err := conf.Load(conf.Options{Overrides: x.set})
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewSpec(Job{Inputs: []string{"in"}, Output: "out", Mapper: "cat", Reduces: x.reduces}, c)
		if err != nil || s.NodesServe != x.want {
			t.Errorf("%v with %d reduces: %v, %v", x.set, x.reduces, s.NodesServe, err)
		}
	}
}

func TestRulesOfJobs(t *testing.T) {
	c, err := conf.Load(conf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		speculation, start string
		want               Start
		fraction           float64
		err                string
	}{
		{"", "", StartAfterMaps, 0.05, ""},
		{"esplash", "omo", StartLazily, 0.05, ""},
		{"late", "0.6", StartAtFraction, 0.6, ""},
		{"none", "1.0", StartAtFraction, 1, ""},
		{"always", "", 0, 0, `-speculation is "always"`},
		{"", "1.1", 0, 0, `-slowstart is "1.1"`},
		{"", "NaN", 0, 0, "-slowstart"},
		{"", "soon", 0, 0, "omo"},
	} {
		s, err := NewSpec(Job{Mapper: "cat", Inputs: []string{"in"}, Output: "out", Speculation: x.speculation, SlowStart: x.start}, c)
		if x.err != "" {
			if err == nil || !strings.Contains(err.Error(), x.err) {
				t.Errorf("%+v: %v", x, err)
			}
			continue
		}
		if err != nil || s.Start != x.want || s.SlowStart != x.fraction {
			t.Errorf("%+v: %v, %v, %v", x, s.Start, s.SlowStart, err)
		}
	}
}
