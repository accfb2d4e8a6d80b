package measure

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestSeeds(t *testing.T) {
	for text, want := range map[string]Seeds{"20": {1, 20}, "101-120": {101, 120}, "7-7": {7, 7}} {
		if got, err := ParseSeeds(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-3", "5-4", "1-", "a", "1-100000000"} {
		if got, err := ParseSeeds(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
	n := uint64(0)
	for seed := range (Seeds{5, 8}).All() {
		n = 10*n + seed
	}
	if n != 5678 {
		t.Errorf("%d", n)
	}
}

func FuzzParseValues(f *testing.F) {
	f.Add("a=b")
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := ParseValues([]string{text}); (err == nil) != (len(v) == 1) {
			t.Errorf("%q: %v, %v", text, v, err)
		}
	})
}

func FuzzParseSeeds(f *testing.F) {
	f.Add("20")
	f.Add("18446744073709551615-18446744073709551615")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := ParseSeeds(text); err == nil && (s.N() < 1 || s.N() > mostSeeds) {
			t.Errorf("%q: %v", text, s)
		}
	})
}

// What is different from seed to seed but the same on both sides drops out of a difference. Two means of five had an error of 40 s, which nobody saw.
func TestDifferencesArePaired(t *testing.T) {
	base := Sample{100, 200, 300, 400}
	other := Sample{90, 190, 290, 390}
	if c := other.Minus(base).Cell(0); c.Mean != -10 || c.Error != 0 || base.Error() < 60 {
		t.Errorf("%+v", c)
	}
	half := Sample{50, 100, 150, 200}
	if c := half.Change(base); c.Mean != -50 || c.Error > 1e-9 || c.String() != "-50.0 ± 0.0 %" {
		t.Errorf("%+v: %s", c, c)
	}
	if c := (Sample{-5, -25, -15, -35}).Change(Sample{-10, -30, -20, -20}); c.Mean != 0 || c.Error <= 0 {
		t.Errorf("of something negative: %+v", c)
	}
	if c := other.Change(base); math.Abs(c.Mean+4) > 1e-9 || c.Error <= 0 {
		t.Errorf("%+v", c)
	}
}

func results() *Results {
	t := Table{Key: "k", Title: "T", Columns: []string{"policy", "x", "y"}}
	t.Add("a", Sample{1, 2, 3}.Cell(1), Words("many"))
	t.Add("b", Sample{math.Inf(1)}.Cell(1))
	return &Results{Title: "R", Seeds: "1-3", Tables: []Table{t}}
}

func TestResultsAreFoundAgain(t *testing.T) {
	x := results()
	var b bytes.Buffer
	if err := x.Write(&b); err != nil {
		t.Fatal(err)
	}
	got, err := ReadResults(&b)
	if err != nil || !reflect.DeepEqual(got, x) {
		t.Errorf("%+v, %v", got, err)
	}
	if c, err := got.Cell("k", "a", "x"); err != nil || c.Mean != 2 || c.Seeds != 3 {
		t.Errorf("%+v, %v", c, err)
	}
	for _, c := range [][3]string{{"l", "a", "x"}, {"k", "c", "x"}, {"k", "a", "z"}, {"k", "b", "y"}} {
		if _, err := got.Cell(c[0], c[1], c[2]); err == nil {
			t.Errorf("%v is there", c)
		}
	}
	var table strings.Builder
	if err := got.Tables[0].Write(&table); err != nil || !strings.Contains(table.String(), "2.0 ± 0.6  many") || !strings.Contains(table.String(), "b       –") {
		t.Errorf("%s, %v", table.String(), err)
	}
}

func FuzzReadResults(f *testing.F) {
	var b bytes.Buffer
	if err := results().Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := ReadResults(bytes.NewReader(data))
		if err != nil {
			return
		}
		for i := range x.Tables {
			for k := range x.Tables[i].Rows {
				for _, c := range x.Tables[i].Rows[k].Cells {
					_ = c.String()
				}
			}
		}
	})
}

func TestParameters(t *testing.T) {
	known := []Parameter{{"n", "3", ""}, {"all", "", ""}, {"wait", "5s", ""}}
	o := &Options{Values: map[string]string{"all": "a,b"}}
	if err := o.Check("x", known); err != nil {
		t.Fatal(err)
	}
	if o.Number("n") != 3 || !o.On("all", "b") || o.On("all", "c") || o.Time("wait").Seconds() != 5 || o.Failed() != nil {
		t.Errorf("%+v", o)
	}
	if o.Numbers("all"); o.Failed() == nil || !strings.Contains(o.Failed().Error(), "parameter all of the study x") {
		t.Errorf("%v", o.Failed())
	}
	bad := &Options{Values: map[string]string{"m": "1"}}
	if err := bad.Check("x", known); err == nil || !strings.Contains(err.Error(), "n, all, wait") {
		t.Errorf("%v", err)
	}
}
