package promise

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestAFolderIsJudgedByWhatIsKnownOfItsPromises(t *testing.T) {
	held := Held{Start: Start{5, "e"}, Last: 100, Term: 7, Cut: 6}
	for name, c := range map[string]struct {
		known Known
		want  string
	}{
		"nothing is known":                      {Known{}, ""},
		"what it holds":                         {Known{Start{4, "d"}, 100, 7, 7}, ""},
		"known of this start":                   {Known{Start{5, "e"}, 900, 9, 9}, ""},
		"the same number, another copy":         {Known{Start: Start{5, "x"}}, "an older copy"},
		"a later start":                         {Known{Start: Start{6, "f"}}, "an older copy"},
		"a vote that it doesn't know of":        {Known{Start: Start{4, "d"}, Voted: 8}, "term 8"},
		"a leader that it doesn't know of":      {Known{Start{4, "d"}, 1, 8, 0}, "term 8"},
		"an entry that it lacks":                {Known{Start{4, "d"}, 101, 7, 0}, "ends at 100"},
		"one that a later leader removed":       {Known{Start{4, "d"}, 101, 5, 0}, ""},
		"one of the leader that removed others": {Known{Start{4, "d"}, 101, 6, 0}, "ends at 100"},
	} {
		err := held.Judge("rm1", c.known)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestALateAnswerOfAnEarlierLeadershipIsNotTakenForOneOfTheLast(t *testing.T) {
	var b Book
	b.Begin(Page{}, Start{1, "a"})
	b.Acknowledged("rm2", 10, 3)
	b.Acknowledged("rm2", 8, 4) // two were removed by a leader in between
	b.Acknowledged("rm2", 10, 3)
	if k := b.Of("rm2"); k.Index != 8 || k.Term != 4 {
		t.Errorf("%+v", k)
	}
}

func TestAPageSurvivesACrashInTheMiddleOfAWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "promises")
	f, page, err := Open(path)
	if err != nil || page.Commit != 0 {
		t.Fatal(page, err)
	}
	first := Page{Own: Known{Start: Start{1, "a"}, Index: 7}, Commit: 5, Peers: map[string]Known{"rm2#x": {Index: 6}}}
	second := first
	second.Commit = 6
	for _, p := range []Page{first, second} {
		if err := f.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut, want := range map[int]Page{slotHeader + 3: first, slotSize + slotHeader + 3: second, 2 * slotSize: second} {
		torn := append([]byte(nil), raw...)
		for i := cut; i < min(cut+20, len(torn)); i++ {
			torn[i] = 0xff
		}
		if err := os.WriteFile(path, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		f, got, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("damaged at %d: %s", cut, d)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever is on disk, a slot is whole and says the same again, or it isn't taken.
func FuzzSlot(f *testing.F) {
	slot, err := encode(3, Page{Own: Known{Index: 7, Term: 2}, Commit: 5, Peers: map[string]Known{"rm2": {Voted: 4}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(slot)
	f.Add(slot[:20])
	f.Add(make([]byte, slotSize))
	f.Fuzz(func(t *testing.T, raw []byte) {
		number, page, ok := decode(raw)
		if !ok {
			return
		}
		again, err := encode(number, page)
		if err != nil {
			return // longer than it came, as JSON escapes some characters
		}
		if n, p, ok := decode(again); !ok || n != number || !cmp.Equal(p, page, cmpopts.EquateEmpty()) {
			t.Errorf("%+v comes back as %+v", page, p)
		}
	})
}
