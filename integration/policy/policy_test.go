package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/yarn/records"
)

var (
	update = flag.Bool("update", false, "record what a stock ResourceManager does; needs HEDDLE_TEST_STOCK=1")
	stock  = !hadooplab.OnHeddle()
	full   = hadooplab.Full()
)

// sideBySide is how many scenarios run at a time on Heddle: they wait for nearly all of their time. Stock takes a JVM for each.
const sideBySide = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); !stock && !full && parallel.Value.String() == parallel.DefValue {
		if err := parallel.Value.Set(sideBySide); err != nil {
			panic(err)
		}
	}
	os.Exit(await.NoGoroutines(m.Run()))
}

func scenarios(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	out := map[string]string{}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(path), ".txt")] = string(b)
	}
	return out
}

// YARN's policies decide in all scenarios as YARN does. Of these the first ones were recorded before Heddle had policies of its own, and neither they nor their
// recordings have changed since: so the others' are what they were.
func TestScenarios(t *testing.T) {
	all := scenarios(t)
	first := firstOnes(t, all)
	t.Logf("%d scenarios are played, of which %d are the first ones", len(all), first)
	for name, text := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden := filepath.Join("testdata", name+".golden")
			parse := func() *Scenario {
				sc, err := Parse(name, text)
				if err != nil {
					t.Fatal(err)
				}
				return sc
			}
			var live Outcome
			if stock || full {
				var err error
				if live, err = parse().OnStock(t.Context(), t.TempDir(), log(t)); err != nil {
					t.Fatalf("stock: %v\n%v", err, live)
				}
				if *update {
					if err := os.WriteFile(golden, []byte(live.String()), 0o644); err != nil {
						t.Fatal(err)
					}
					t.Logf("%s:\n%s", golden, live)
				}
			}
			b, err := os.ReadFile(golden)
			if errors.Is(err, os.ErrNotExist) {
				t.Fatal("nothing is recorded: HEDDLE_TEST_STOCK=1 go test -update")
			} else if err != nil {
				t.Fatal(err)
			}
			recorded, err := ParseOutcome(string(b))
			if err != nil {
				t.Fatalf("%s: %v", golden, err)
			}
			if live != nil {
				compare(t, parse(), "stock, as recorded", recorded, live)
			}
			if stock {
				return
			}
			got, err := parse().OnHeddle(t.Context(), t.TempDir(), log(t))
			if err != nil {
				t.Fatalf("%v\nuntil then:\n%v", err, got)
			}
			if live == nil {
				live = recorded
			}
			compare(t, parse(), "stock", live, got)
		})
	}
}

// firstOnes checks that the scenarios of testdata/first.sha256 are there, with their recordings, as they were, and returns how many these are.
func firstOnes(t *testing.T, all map[string]string) (n int) {
	t.Helper()
	const recorded = 163
	b, err := os.ReadFile("testdata/first.sha256")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		golden, err := os.ReadFile(filepath.Join("testdata", name+".golden"))
		if err != nil {
			t.Error(err)
		}
		if got := sha256.Sum256(append([]byte(all[name]), golden...)); hex.EncodeToString(got[:]) != sum {
			t.Errorf("the scenario %s, or what YARN made of it, isn't what it was", name)
		}
		n++
	}
	if n != recorded {
		t.Errorf("there are %d of the first %d scenarios", n, recorded)
	}
	return n
}

func compare(t *testing.T, sc *Scenario, what string, want, got Outcome) {
	t.Helper()
	c, err := conf.Load(conf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range sc.Settings {
		if strings.HasPrefix(key, "yarn.resource-types") {
			c.Set(key, value)
		}
	}
	types, err := c.ResourceTypes()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range sc.Compare(want, got, types) {
		t.Errorf("differs from %s: %s", what, d)
	}
	if t.Failed() {
		t.Logf("in full:\n%v", got)
	}
}

func log(t *testing.T) *logrus.Entry {
	l := logrus.New()
	l.SetOutput(io.Discard)
	if os.Getenv("HEDDLE_TEST_LOG") != "" {
		l.SetOutput(t.Output())
		l.SetLevel(logrus.DebugLevel)
	}
	return logrus.NewEntry(l)
}

func TestOutcomesAreReadAsWritten(t *testing.T) {
	o := Outcome{
		{Step: "node N1 8192,8"},
		{Step: "submit A", Refused: "a.B: it: is so"},
		{Step: "settle nodes", Apps: []App{
			{Name: "A", State: "RUNNING", Queue: "root.a", User: "u", Containers: 3, Used: records.NewResource(3072, 3), Nodes: map[string]int{"N1": 2}, Reserved: 1, Preempted: 4, OfQueue: "12.5"},
			{Name: "B", State: "FAILED", Queue: "q", User: "v", Diagnostics: "why = not"},
		}},
	}
	back, err := ParseOutcome(o.String())
	if err != nil {
		t.Fatal(err)
	}
	if back.String() != o.String() {
		t.Errorf("written:\n%v\nread:\n%v", o, back)
	}
	if d := (&Scenario{}).Compare(o, back, records.ResourceTypes{}); len(d) != 0 {
		t.Error(d)
	}
}

func TestDifferencesAreSeen(t *testing.T) {
	script := "node N1 8192,8\nsubmit A\nask A 4 1024,1\nsettle\n"
	app := func(n int64) Outcome {
		a := App{Name: "A", State: "RUNNING", Queue: "q", User: "u", Containers: int(n), Used: records.NewResource(1024, 1).Times(n)}
		return Outcome{{Step: "settle", Apps: []App{a}}}
	}
	for text, differ := range map[string]bool{script: true, "tolerance 1\n" + script: false} {
		sc, err := Parse("it", text)
		if err != nil {
			t.Fatal(err)
		}
		if d := sc.Compare(app(4), app(3), records.ResourceTypes{}); (len(d) > 0) != differ {
			t.Errorf("%s: %q", text, d)
		}
		if d := sc.Compare(app(4), app(2), records.ResourceTypes{}); len(d) == 0 {
			t.Errorf("%s: two containers are no difference", text)
		}
	}
}

func TestWrongScriptsAreRefused(t *testing.T) {
	for _, text := range []string{"fly", "node N1", "scheduler best", "quiet soon", "settle a b", "tolerance x"} {
		if _, err := Parse("it", text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
