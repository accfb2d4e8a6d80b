package mapreduce

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const validYAML = `# The scenario of the tests, in YAML.
seed: 7
settings: {slowstart: omo, bandwidth: 50}
nodes:
  - &node
    name: fast
    count: 2
    memory: 0x1000
    vcores: 4
    speeds: {sort.map: 2}
  - <<: *node
    name: slow
    count: 1
    speed: .5
    speeds: {}
changes:
  - {at: 10, node: slow, speed: 0.1}
  - at: 20
    node: fast1
    down: true
jobs:
  - name: sort
    type: sort
    maps: &stage
      tasks: 4
      seconds: 10
      memory: 1024
      output: 64
    reduces:
      <<: [*stage]
      tasks: 1
      seconds: 5.0
      output: 0
allocations: >-
  <allocations/>
`

// The same scenario in both languages is the same scenario.
func TestYAMLScenarioIsRead(t *testing.T) {
	for _, name := range []string{"it", "it.yaml", "it.YML"} {
		got, err := Read(name, []byte(validYAML))
		if err != nil {
			t.Fatal(err)
		}
		want, err := Read("it", []byte(strings.Replace(valid, `"jobs"`, `"allocations": "<allocations/>", "jobs"`, 1)))
		if err != nil {
			t.Fatal(err)
		}
		want.Nodes[1].Count, want.Nodes[1].Speeds = 1, map[string]float64{} // what merging overwrites
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v\n%+v", got, want)
		}
	}
	if _, err := Read("it.yaml", []byte(valid)); err != nil {
		t.Errorf("JSON is YAML, too: %v", err)
	}
}

func TestWrongYAMLScenariosAreRefused(t *testing.T) {
	for _, x := range []struct{ from, to, want string }{
		{"seed: 7", "sede: 7", "it:2: sede isn't known: a scenario has seed, "},
		{"seed: 7", `seed: "7"`, "it:2: seed must be a number"},
		{"seed: 7", "seed: 7.5", "it:2: seed: 7.5 is no whole number from 0"},
		{"seed: 7", "seed: -1", "it:2: seed: -1 is no whole number from 0"},
		{"seed: 7", "seed: .nan", "it:2: .nan is no number that a scenario can have"},
		{"seed: 7", "seed: 1e999", "it:2: seed must be a number"},
		{"seed: 7", "seed: !!int seven", `it:2: "seven" is no int`},
		{"seed: 7", "seed: 2001-01-01", "it:2: seed must be a number"},
		{"seed: 7", "seed:", "it:2: seed must be a number"},
		{"seed: 7", "seed: 7\n\nseed: 8", "it:4: seed is there twice"},
		{"seed: 7", "seed: {", "it:2: it is no YAML: did not find expected"},
		{"seed: 7", "seed: [1\n", "it:2: it is no YAML: did not find expected"},
		{"seed: 7", "seed: 'a", "it:2: it is no YAML: found unexpected end of stream"},
		{"seed: 7", "seed: a: b", "it:2: it is no YAML: mapping values are not allowed in this context"},
		{"seed: 7", "\tseed: 7", "it:2: it is no YAML: found character that cannot start any token"},
		{"seed: 7", " seed: 7", "it:3: it is no YAML: did not find expected <document start>"},
		{"seed: 7", "seed: *nobody", "it:2: it is no YAML: unknown anchor 'nobody' referenced"},
		{"seed: 7", "seed: \x01", "it:2: it is no YAML: control characters are not allowed"},
		{"seed: 7", "seed: \xff", "it:2: it is no YAML: "},
		{"seed: 7", "? [a]\n: 7", "it:2: a key must be a word"},
		{"seed: 7", "seed: 7\n<<: 8", "it:3: << must name an object or a list of objects"},
		{"bandwidth: 50", "bandwidth: -1", "it:3: settings.bandwidth: -1 is out of range: give a number from 0 to"},
		{"slowstart: omo", "slowstart: 0.05", "it:3: settings.slowstart must be text in quotes"},
		{"slowstart: omo", `slowstart: "0.05"`, ""},
		{"memory: 0x1000", "memory: 4 GB", "it:8: nodes[0].memory must be a number"},
		{"name: slow", "name: fast2", `it:12: nodes[1].name: there are two nodes "fast2"`},
		{"speed: .5", "sped: .5", "it:14: nodes[1].sped isn't known"},
		{"node: slow", "node: slwo", `it:17: changes[0].node: there is no node "slwo"`},
		{"down: true", "down: yes", "it:20: changes[1].down must be true or false"},
		// What an alias stands for is wrong where the alias is.
		{"output: 0", "x: 0", "it:33: jobs[0].reduces.x isn't known"},
		{"      output: 0\n", "", "it:30: jobs[0].reduces.output: only maps have outputs"},
		{"maps: &stage", "maps: &stage\n      <<: *stage", "it:25: *stage is within itself"},
		{"seed: 7", "seed: 7\nproperties: &p {a: *p}", "it:3: *p is within itself"},
		{"seed: 7", "---\nseed: 7", ""},
		{"<allocations/>\n", "<allocations/>\n---\nmore: 1\n", "it:36: there is more after the scenario"},
		{"<allocations/>\n", "<allocations/>\n---\n}\n", "it:37: it is no YAML: "},
	} {
		text := strings.Replace(validYAML, x.from, x.to, 1)
		_, err := Read("it", []byte(text))
		var where *FileError
		switch {
		case text == validYAML:
			t.Fatalf("nothing was replaced by %q", x.to)
		case x.want == "" && err != nil:
			t.Errorf("%s is refused: %v", x.to, err)
		case x.want != "" && (err == nil || !strings.HasPrefix(err.Error(), x.want) || !errors.As(err, &where)):
			t.Errorf("%s: %v instead of %s…", x.to, err, x.want)
		}
	}
	for text, want := range map[string]string{
		"":            "it.yaml:1: " + nothing,
		"# nothing\n": "it.yaml:1: " + nothing,
		"- a\n- b\n":  "it.yaml:1: the scenario must be an object with keys, not a list",
		"word":        "it.yaml:1: the scenario must be an object with keys",
		strings.Repeat("[", 50) + strings.Repeat("]", 50):                                 "it.yaml:1: it is nested too deep",
		"a: &a " + strings.Repeat("x", 1<<16) + "\nb:\n " + strings.Repeat("- *a\n ", 80): "it.yaml:75: with its aliases written out it is larger than 4 MB",
		doubling("[%s, %s]", "[x]"):                                                       "it.yaml:20: it is nested too deep",
		doubling("{<<: [%s, %s]}", "{a: 1}"):                                              "it.yaml:15: merge keys (<<) name more than 100000 objects",
	} {
		if _, err := Read("it.yaml", []byte(text)); err == nil || err.Error() != want {
			t.Errorf("%.40q: %v instead of %s", text, err, want)
		}
	}
}

// doubling is a document of a few lines that doubles with each when its aliases are written out.
func doubling(twice, once string) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "a0: &a0 %s\n", once)
	for i := range 40 {
		alias := fmt.Sprintf("*a%d", i)
		fmt.Fprintf(&b, "a%d: &a%d %s\n", i+1, i+1, fmt.Sprintf(twice, alias, alias))
	}
	return b.String()
}

// linesOf is how many lines a text has at most: YAML has more ends of lines than JSON.
func linesOf(text string) (n int) {
	for _, end := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
		n += strings.Count(text, end)
	}
	return n + 1
}

// Whatever a YAML file has in it: it is refused with a line that it has, or is JSON with no more lines than it, and reads as JSON does.
func FuzzReadYAML(f *testing.F) {
	f.Add(validYAML)
	f.Add(valid)
	f.Add("a: &a [*a]")
	f.Add("<<: {a: 1}\n? b\n: c")
	f.Add("a: |\n  text\n\nb: 'x\n  y'\n")
	f.Add("\xff\xfea\x00:\x00\r\x00b\x00")
	f.Fuzz(func(t *testing.T, text string) {
		lines := linesOf(text)
		wrong := func(err error) bool {
			var where *FileError
			return !errors.As(err, &where) || where.Line < 1 || where.Line > lines || where.What == ""
		}
		b, err := fromYAML("file.yaml", []byte(text))
		if err != nil {
			if wrong(err) {
				t.Fatalf("%v", err)
			}
			return
		}
		if !json.Valid(b) {
			t.Fatalf("%q becomes %q", text, b)
		}
		if s, err := Read("file.yaml", []byte(text)); err != nil {
			if wrong(err) {
				t.Fatalf("%v", err)
			}
		} else if flaw := s.check(); flaw != nil {
			t.Fatalf("%+v", flaw)
		}
	})
}
