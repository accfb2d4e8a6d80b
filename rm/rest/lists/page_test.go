package lists

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// thing is a row of a list that tests page through.
type thing struct {
	id    int
	group int
	name  string
}

var things = rows[thing]{
	columns: map[string]column[thing]{
		"group": byNumber(func(t *thing) int64 { return int64(t.group) }),
		"name":  byText(func(t *thing) string { return t.name }),
	},
	tie: func(a, b *thing) int { return cmp.Compare(a.id, b.id) },
	id:  func(t *thing) string { return strconv.Itoa(t.id) },
	at: func(id string) (t thing, err error) {
		t.id, err = strconv.Atoi(id)
		return t, err
	},
}

var thingOffer = offer{sorts: []string{"group", "name"}, filters: map[string]kind{"name": phrase, "kind": words, "from": number}}

// ask returns a page of things.
func ask(t interface{ Fatal(...any) }, all []thing, sort, cursor string, limit int) page[thing] {
	values := url.Values{"sort": {sort}, "limit": {strconv.Itoa(limit)}}
	if cursor != "" {
		values.Set("cursor", cursor)
	}
	q, err := parseQuery(values, thingOffer)
	if err != nil {
		t.Fatal(err)
	}
	p, err := things.pick(q)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		r := all[i]
		p.add(&r)
	}
	return p.page()
}

// Pages, forwards and backwards, have the rows that a sorted list has, whichever order they come in.
func TestPagesAreThoseOfTheSortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) thing {
			return thing{rapid.IntRange(0, 99).Draw(t, "id"), rapid.IntRange(-2, 2).Draw(t, "group"), rapid.StringMatching(`[ab]{0,70}`).Draw(t, "name")}
		}), 0, 40, func(x thing) int { return x.id }).Draw(t, "things")
		sort := rapid.SampledFrom([]string{"group", "-group", "name", "-name"}).Draw(t, "sort")
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		want := slices.Clone(all)
		slices.SortFunc(want, func(a, b thing) int {
			c := cmp.Compare(a.group, b.group)
			if sort == "name" || sort == "-name" {
				c = cmp.Compare(a.name[:min(len(a.name), maxKey)], b.name[:min(len(b.name), maxKey)])
			}
			if c = cmp.Or(c, cmp.Compare(a.id, b.id)); sort[0] == '-' {
				return -c
			}
			return c
		})
		p := ask(t, all, sort, "", limit)
		var got []thing
		for pages := 0; ; pages++ {
			if p.before != len(got) || p.matched != len(all) || (p.prev != "") != (pages > 0) {
				t.Fatalf("page %d says that %d of %d are before it, and %d are; previous: %q", pages, p.before, p.matched, len(got), p.prev)
			}
			if p.prev != "" {
				back := ask(t, all, sort, p.prev, limit)
				if n := len(got); !slices.Equal(back.rows, got[max(0, n-limit):]) || back.before != max(0, n-limit) {
					t.Fatalf("back from page %d: %v (%d before), not %v", pages, back.rows, back.before, got[max(0, n-limit):])
				}
			}
			got = append(got, p.rows...)
			if p.next == "" {
				break
			}
			p = ask(t, all, sort, p.next, limit)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("the pages have %v, the list %v", got, want)
		}
	})
}

// Rows that come and go between two pages make the second one neither repeat nor leave out others, even if the row at the cursor is gone.
func TestACursorSurvivesChanges(t *testing.T) {
	var all []thing
	for i := range 20 {
		all = append(all, thing{id: 10 * i})
	}
	first := ask(t, all, "group", "", 5)
	all = slices.DeleteFunc(all, func(x thing) bool { return x.id == 0 || x.id == 40 })
	all = append(all, thing{id: 5}, thing{id: 41})
	second := ask(t, all, "group", first.next, 5)
	if want := []thing{{id: 41}, {id: 50}, {id: 60}, {id: 70}, {id: 80}}; !slices.Equal(second.rows, want) {
		t.Errorf("the second page has %v, not %v", second.rows, want)
	}
	if second.before != 4 { // 5, 10, 20, 30
		t.Errorf("it says that %d are before it", second.before)
	}
}

func TestWrongParameters(t *testing.T) {
	cursor := cursor{sort: "group", id: "7"}.String()
	for query, want := range map[string]string{
		"sort=size":                    `sort is "size": it must be one of group, name, with - in front for the descending order`,
		"limit=0":                      `limit is "0": it must be a number from 1 to 1000`,
		"limit=1001":                   `limit is "1001": it must be a number from 1 to 1000`,
		"limit=x":                      `limit is "x": it must be a number from 1 to 1000`,
		"nmae=x":                       `there is no parameter "nmae": there are cursor, format, from, kind, limit, name, sort`,
		"from=-1":                      `from is "-1": it must be a number that isn't negative`,
		"cursor=abc":                   `cursor is "abc": it is none that this list has given. Leave it out to begin with the first page`,
		"sort=name&cursor=" + cursor:   `cursor is "` + cursor + `": it belongs to sort="group", not to "name". Leave it out to begin with the first page`,
		"user.name=a&doAs=b&kind=a,b,": "",
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		_, err = parseQuery(values, thingOffer)
		if got := errors.Join(err); (got == nil) != (want == "") || got != nil && got.Error() != want {
			t.Errorf("%s: %v, not %s", query, got, want)
		}
	}
}

// FuzzCursor: a text is either refused, or the one text of a cursor, and leads to a page without a failure.
func FuzzCursor(f *testing.F) {
	f.Add(cursor{sort: "-group", id: "7", at: key{n: -3}}.String())
	f.Add(cursor{sort: "name", id: "7", at: key{s: "abc"}, backward: true}.String())
	f.Add("AQAA")
	f.Add("AQD_____________AQAA")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCursor(text)
		if err != nil {
			return
		}
		if c.String() != text {
			t.Fatalf("%q is read as %+v, which is written %q", text, c, c.String())
		}
		q, err := parseQuery(url.Values{"sort": {c.sort}, "cursor": {text}, "limit": {"2"}}, thingOffer)
		if err != nil {
			return
		}
		p, err := things.pick(q)
		if err != nil {
			return
		}
		for i := range 5 {
			p.add(&thing{id: i})
		}
		if got := p.page(); len(got.rows) > 2 || got.before < 0 || got.before+len(got.rows) > 5 {
			t.Fatalf("%+v", got)
		}
	})
}

// FuzzQuery: any parameters are refused, or filter without a failure.
func FuzzQuery(f *testing.F) {
	f.Add("sort=-started&state=RUNNING,&state=failed&queue=etl&q=x_1&startedFrom=5&name=%00")
	f.Add("queue=.&queue=root.&tag=a,b&finishedTo=9223372036854775807&limit=1000")
	f.Add("cursor=AQAA&limit=-1")
	f.Fuzz(func(t *testing.T, text string) {
		values, _ := url.ParseQuery(text)
		for _, o := range []offer{appOffer, nodeOffer, containerOffer, waitingOffer, userOffer} {
			q, err := parseQuery(values, o)
			if err != nil {
				continue
			}
			if q.limit < 1 || q.limit > maxLimit {
				t.Fatalf("%q: a limit of %d", text, q.limit)
			}
			q.within("root.prod.etl")
			q.has("q", "text", "")
			q.between("startedFrom", "startedTo", 7)
		}
	})
}
