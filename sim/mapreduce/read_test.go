package mapreduce

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const valid = `{
  "seed": 7,
  "settings": {"slowstart": "omo", "bandwidth": 50},
  "nodes": [
    {"name": "fast", "count": 2, "memory": 4096, "vcores": 4, "speeds": {"sort.map": 2}},
    {"name": "slow", "memory": 4096, "vcores": 4, "speed": 0.5}
  ],
  "changes": [
    {"at": 10, "node": "slow", "speed": 0.1},
    {"at": 20, "node": "fast1", "down": true}
  ],
  "jobs": [
    {"name": "sort", "type": "sort", "maps": {"tasks": 4, "seconds": 10, "memory": 1024, "output": 64},
     "reduces": {"tasks": 1, "seconds": 5, "memory": 1024}}
  ]
}`

func TestScenarioIsRead(t *testing.T) {
	s, err := Read("it", []byte(valid))
	if err != nil {
		t.Fatal(err)
	}
	if s.Seed != 7 || s.Settings.SlowStart != "omo" || s.Nodes[0].Speeds["sort.map"] != 2 || *s.Changes[0].Speed != 0.1 || !*s.Changes[1].Down || s.Jobs[0].Maps.Output != 64 {
		t.Errorf("%+v", s)
	}
}

// What is wrong with a file is said by file, line and reason.
func TestWrongScenariosAreRefused(t *testing.T) {
	for _, x := range []struct{ from, to, want string }{
		{`"seed": 7,`, `"sede": 7,`, "it:2: sede isn't known: a scenario has seed, "},
		{`"seed": 7,`, `"seed": "7",`, "it:2: seed must be a number"},
		{`"seed": 7,`, `"seed": 7.5,`, "it:2: seed: 7.5 is no whole number from 0"},
		{`"seed": 7,`, `"seed": 7`, "it:3: invalid character"},
		{`"seed": 7,`, "\"seed\": 7,\n\n\"seed\": 8,", "it:4: seed is there twice"},
		{`"bandwidth": 50`, `"bandwidth": -1`, "it:3: settings.bandwidth: -1 is out of range: give a number from 0 to"},
		{`"omo"`, `"soon"`, `it:3: settings.slowstart: "soon" isn't known: give "omo"`},
		{`"omo"`, `"omo", "stagePolicy": "lazy"`, `it:3: settings.stagePolicy: "lazy" isn't known: give one of ["fresh" "omo" "none"]`},
		{`"omo"`, `"0", "stagePolicy": "fresh"`, ""},
		{"\"settings\": {\"slowstart\": \"omo\"", "\"scheduler\": \"fifo\", \"settings\": {\"stagePolicy\": \"omo\"", "it:3: settings.stagePolicy: omo needs fair or capacity as the scheduler"},
		{`"omo"`, `0.5`, `it:3: settings.slowstart must be text in quotes`},
		{`"name": "slow", "memory"`, `"name": "fast2", "memory"`, `it:6: nodes[1].name: there are two nodes "fast2"`},
		{`{"name": "sort",`, "{\"name\": \"sort2\", \"maps\": {\"tasks\": 1, \"seconds\": 1, \"memory\": 1}},\n{\"name\": \"sort\", \"count\": 2,", `it:14: jobs[1].name: there are two jobs "sort2"`},
		{`"sort.map": 2`, `"sort.map": 0`, "it:5: nodes[0].speeds.sort.map: 0 is out of range"},
		{`"node": "slow", "speed"`, `"node": "slwo", "speed"`, `it:9: changes[0].node: there is no node "slwo"`},
		{`, "down": true`, ``, "it:10: changes[1]: nothing changes: give speed or down"},
		{`"down": true`, `"down": "yes"`, "it:10: changes[1].down must be true or false"},
		{`"tasks": 4`, `"tasks": 0`, ""},
		{`"seconds": 10, "memory": 1024`, `"seconds": 10, "memory": 8192`, "it:13: jobs[0].maps.memory: 8192 is out of range: give a number from 1 to 4096"},
		{`"output": 64}`, `"vcores": 5}`, "it:13: jobs[0].maps.vcores: 5 is out of range: give a number from 0 to 4"},
		{`"reduces": {`, `"reduces": [{`, "it:14: jobs[0].reduces must be an object with keys, not a list"},
		{`"seconds": 5,`, `"seconds": 5, "output": 9,`, "it:14: jobs[0].reduces.output: only maps have outputs"},
		{`"name": "slow", "memory"`, "\"name\": \"sl\xe9w\", \"memory\"", "it:6: it is no UTF-8"},
		{`"name": "slow", "memory"`, "\"name\": \"sl�w\", \"memory\"", `it:9: changes[0].node: there is no node "slow"`},
		{"\"seed\": 7,", "\"seed\": 7,\n\"allocations\": \"<allocations>\\n<queue name='a'><weight>-1</weight></queue></allocations>\",", `it:3: allocations: line 2 of its text: <weight> = "-1": queue root.a: it must be`},
		{"\"seed\": 7,", "\"seed\": 7,\n\"allocations\": \"<allocations>\\n\\n</alocations>\",", `it:3: allocations: line 3 of its text: is not well-formed XML`},
		{"\"seed\": 7,", "\"seed\": 7, \"scheduler\": \"capacity\", \"properties\": {\n\"yarn.scheduler.capacity.root.default.capacity\": \"ten\"},", `it:3: properties.yarn.scheduler.capacity.root.default.capacity: yarn.scheduler.capacity.root.default.capacity = "ten"`},
		{"\"seed\": 7,", "\"seed\": 7, \"scheduler\": \"capacity\", \"properties\": {\"yarn.scheduler.capacity.root.queues\": \"a\", \"yarn.scheduler.capacity.root.a.capacity\": \"100\"},", `it:13: jobs[0]: it names no queue: there is no queue root.default`},
		{`{"name": "sort",`, `{"name": "sort", "queue": "root",`, "it:13: jobs[0].queue: root holds other queues"},
		{`{"name": "sort",`, `{"name": "sort", "queue": "root.default.x",`, "it:13: jobs[0].queue: root.default.x can't be below root.default"},
		{`{"name": "sort",`, `{"name": "sort", "queue": "root..x",`, `it:13: jobs[0].queue: "root..x" is no name of a queue`},
		{`{"name": "sort",`, `{"name": "sort", "queue": "made.by.job",`, ""},
		{"\"seed\": 7,", preempts("nope"), `it:3: properties.heddle.scheduler.preemption: heddle.scheduler.preemption = "nope": `},
		{"\"seed\": 7,", "\"properties\": {\n\n\"heddle.scheduler.preemption.free-swap\": \"-1\"},", `it:4: properties.heddle.scheduler.preemption.free-swap: `},
		{"\"seed\": 7,", "\"properties\": {\n\"heddle.scheduler.premption\": \"kill\"},", `it:3: properties.heddle.scheduler.premption: heddle.scheduler.premption = "kill": Heddle has no such key; did you mean heddle.scheduler.preemption?`},
		{"\"seed\": 7,", "\"properties\": {\n\"yarn.resourcemanager.scheduler.class\": \"mine\"},", `it:3: properties.yarn.resourcemanager.scheduler.class: `},
		{"\n}", "", "it:15: it ends in the middle"},
		{"\n}", "\n}\n{", "it:17: there is more after the scenario"},
	} {
		text := strings.Replace(valid, x.from, x.to, 1)
		if strings.HasPrefix(x.from, "\n}") {
			text = strings.TrimSuffix(valid, "\n}") + x.to
		}
		_, err := Read("it", []byte(text))
		var where *FileError
		switch {
		case x.want == "" && err != nil:
			t.Errorf("%s is refused: %v", x.to, err)
		case x.want != "" && (err == nil || !strings.HasPrefix(err.Error(), x.want) || !errors.As(err, &where)):
			t.Errorf("%s: %v instead of %s…", x.to, err, x.want)
		}
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that isn't there: %v", err)
	}
}

func preempts(how string) string {
	return fmt.Sprintf("\"properties\": {\n\"heddle.scheduler.preemption\": %q},", how)
}

// What is probably a mistake is told by file, line and reason, and the scenario is read.
func TestOddScenariosAreWarnedOf(t *testing.T) {
	for _, x := range []struct{ to, want string }{
		{preempts("kill"), ""},
		{preempts("suspend"), `it:3: properties.heddle.scheduler.preemption: heddle.scheduler.preemption = "suspend": has no effect, as preemption is turned off`},
		{`"properties": {"yarn.scheduler.fair.sizebaseweight": "true"},`, `it:2: properties.yarn.scheduler.fair.sizebaseweight: yarn.scheduler.fair.sizebaseweight = "true": YARN has no such key; did you mean yarn.scheduler.fair.sizebasedweight?`},
		{`"properties": {"yarn.scheduler.minimum-allocation-mb": "512"},`, "it:2: properties.yarn.scheduler.minimum-allocation-mb: it has no effect: containers have the sizes that jobs give"},
		{`"properties": {"yarn.nodemanager.resource.memory-mb": "512"},`, "it:2: properties.yarn.nodemanager.resource.memory-mb: it has no effect: only those of the scheduler have one"},
		{`"properties": {"yarn.scheduler.capacity.root.default.capacity": "50"},`, "it:2: properties.yarn.scheduler.capacity.root.default.capacity: it has no effect: it is one of the scheduler capacity"},
		{`"scheduler": "fifo", "properties": {"yarn.scheduler.fair.preemption": "true"},`, "it:2: properties.yarn.scheduler.fair.preemption: it has no effect: it is one of the scheduler fair"},
		{"\"scheduler\": \"fifo\",\n\"allocations\": \"<allocations/>\",", "it:3: allocations: it has no effect: only the scheduler fair heeds it"},
		{"\"allocations\": \"<allocations>\\n<queue name='default'><wieght>1</wieght></queue></allocations>\",", `it:2: allocations: line 2 of its text: <wieght> = "1": `},
	} {
		s, err := Read("it", []byte(strings.Replace(valid, `"seed": 7,`, x.to, 1)))
		if err != nil {
			t.Errorf("%s: %v", x.to, err)
			continue
		}
		var got []string
		for _, w := range s.Warnings() {
			got = append(got, w.Error())
		}
		if x.want == "" && len(got) > 0 || x.want != "" && (len(got) == 0 || !strings.HasPrefix(got[0], x.want)) {
			t.Errorf("%s: %q instead of %s…", x.to, got, x.want)
		}
	}
}

// A blank file says nothing.
func TestBlankFiles(t *testing.T) {
	for _, name := range []string{"it", "it.json", "it.yaml"} {
		for _, text := range []string{"", " \n\t\n"} {
			if _, err := Read(name, []byte(text)); err == nil || err.Error() != name+":1: "+nothing {
				t.Errorf("%s %q: %v", name, text, err)
			}
		}
	}
}

// A container's memory and vcores have to be on the same node.
func TestContainersThatNoNodeHasRoomFor(t *testing.T) {
	text := strings.Replace(valid, `"name": "slow", "memory": 4096, "vcores": 4`, `"name": "slow", "memory": 512, "vcores": 9`, 1)
	text = strings.Replace(text, `"memory": 1024}`, `"memory": 1024, "vcores": 9}`, 1)
	want := "it:14: jobs[0].reduces: no node has both 1024 MB and 9 vcores for a container"
	if _, err := Read("it", []byte(text)); err == nil || err.Error() != want {
		t.Errorf("%v instead of %s", err, want)
	}
}

// The scenarios of the documentation run.
func TestDocumentedScenarios(t *testing.T) {
	files, err := filepath.Glob("../../docs/scenarios/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		s, err := ReadFile(f)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := Run(s); err != nil {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// Whatever a file has in it: it is a scenario that makes sense, or refused with a line that it has.
func FuzzRead(f *testing.F) {
	f.Add(valid)
	f.Add(`{"nodes":[{"name":"n","memory":1,"vcores":1}],"jobs":[{"name":"j","maps":{"tasks":1,"memory":1}}]}`)
	f.Add(`[[[[`)
	f.Add(`{"nodes": null}`)
	f.Add("\r\r0")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Read("file", []byte(text))
		if err != nil {
			var where *FileError
			if !errors.As(err, &where) || where.Line < 1 || where.Line > linesOf(text) || where.What == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		if flaw := s.check(); flaw != nil {
			t.Fatalf("%+v", flaw)
		}
	})
}

// A JSON file by its name that isn't JSON is told so, not read as YAML.
func TestOtherKindsOfFilesAreRefused(t *testing.T) {
	for _, text := range []string{"nodes:\n - name: n\n", "# comment\nnodes: []\n", "\xff\xfe{"} {
		if _, err := Read("it.json", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), "it.json:1: invalid character") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
