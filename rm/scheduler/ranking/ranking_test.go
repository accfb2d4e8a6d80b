package ranking_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/rm/scheduler/ranking"
)

var rules = []ranking.Rule{
	ranking.ByUse, ranking.ByPriorityAndUse, ranking.ByPriority, ranking.ByAppUse, ranking.ByFairness, ranking.ByDominance, ranking.ByPlace,
}

// model compares two rankings of one arena with sorted lists.
type model struct {
	e     ranking.Arena
	o     [2]ranking.Ranking
	lists [2][]int32
	seq   int64
}

func (m *model) draw(t *rapid.T, i int32) {
	k := m.e.Key(i)
	k.Ratio = rapid.Float64Range(0, 2).Draw(t, "ratio")
	k.Capacity = float64(rapid.IntRange(0, 2).Draw(t, "capacity"))
	k.Priority = rapid.Int32Range(0, 2).Draw(t, "priority")
	k.Rank = rapid.Uint8Range(0, 1).Draw(t, "rank")
	m.e.Shares(i)[0] = float64(rapid.IntRange(0, 2).Draw(t, "share"))
}

func (m *model) step(t *rapid.T) {
	x := rapid.IntRange(0, 1).Draw(t, "order")
	list := &m.lists[x]
	if len(*list) == 0 || rapid.IntRange(0, 2).Draw(t, "what") == 0 {
		m.seq++
		i := m.e.Take(int32(m.seq))
		m.e.Reset(i, m.seq)
		m.draw(t, i)
		m.e.SetMask(i, rapid.Uint64Range(0, 7).Draw(t, "mask"))
		m.e.Enter(&m.o[x], i)
		*list = append(*list, i)
		return
	}
	at := rapid.IntRange(0, len(*list)-1).Draw(t, "element")
	i := (*list)[at]
	switch rapid.IntRange(0, 2).Draw(t, "how") {
	case 0:
		m.draw(t, i)
		m.e.Moved(&m.o[x], i)
	case 1:
		m.e.SetMask(i, rapid.Uint64Range(0, 7).Draw(t, "mask"))
	case 2:
		m.e.Leave(&m.o[x], i)
		if m.e.In(i) {
			t.Fatalf("element %d has left, and is in an order", i)
		}
		m.e.SetMask(i, 0)
		m.e.Give(i)
		*list = slices.Delete(*list, at, at+1)
	}
}

func (m *model) sort(r ranking.Rule, list []int32) {
	slices.SortFunc(list, func(i, j int32) int {
		switch {
		case i == j:
			return 0
		case m.e.Less(r, i, j):
			return -1
		}
		return 1
	})
}

// from returns what of a list offers something, and the first element that does.
func (m *model) offering(list []int32, open ranking.Mask) (out []int32, first int32) {
	for _, i := range list {
		if m.e.Own(i)&open != 0 {
			out = append(out, i)
		}
	}
	if len(out) == 0 {
		return nil, ranking.Nothing
	}
	return out, out[0]
}

// After any history a ranking is sorted by its rule, and every search finds what a look at all elements finds.
func TestOrdersAreSortedListsWithMasks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := rapid.SampledFrom(rules).Draw(t, "rule")
		m := model{o: [2]ranking.Ranking{ranking.New(rule), ranking.New(rule)}}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			m.step(t)
		}
		open := rapid.Uint64Range(1, 7).Draw(t, "open")
		for x := range m.o {
			o, list := &m.o[x], m.lists[x]
			m.sort(rule, list)
			if err := m.e.Check(o); err != nil {
				t.Fatal(err)
			}
			var all []int32
			m.e.All(o, func(i int32) bool {
				all = append(all, i)
				return true
			})
			if !slices.Equal(all, list) {
				t.Fatalf("the order is %v, sorted it is %v", all, list)
			}
			want, first := m.offering(list, open)
			if got := m.e.First(o, open); got != first {
				t.Fatalf("First finds %d, not %d", got, first)
			}
			if got := m.e.Offers(o)&open != 0; got != (first != ranking.Nothing) {
				t.Fatalf("offers %b of %b, and the first that does is %d", m.e.Offers(o), open, first)
			}
			var found []int32
			for i := first; i != ranking.Nothing; i = m.e.Next(i, open) {
				found = append(found, i)
			}
			if !slices.Equal(found, want) {
				t.Fatalf("Next finds %v, not %v", found, want)
			}
			for _, i := range list {
				place := slices.Index(list, i)
				if got := m.e.Search(o, func(j int32) int { return slices.Index(list, j) - place }); got != i {
					t.Fatalf("Search finds %d, not %d", got, i)
				}
			}
			m.firstBehind(t, rule, o, list, m.lists[1-x], open)
		}
	})
}

// firstBehind compares FirstBehind with a look at all elements, for each element of either ranking.
func (m *model) firstBehind(t *rapid.T, rule ranking.Rule, o *ranking.Ranking, list, others []int32, open ranking.Mask) {
	for _, after := range slices.Concat(list, others) {
		want := ranking.Nothing
		for _, i := range list {
			if m.e.Less(rule, after, i) && m.e.Own(i)&open != 0 {
				want = i
				break
			}
		}
		if got := m.e.FirstBehind(o, after, open); got != want {
			t.Fatalf("the first behind %d is %d, not %d", after, got, want)
		}
	}
}

func TestRules(t *testing.T) {
	var e ranking.Arena
	take := func(k ranking.Key, shares ...float64) int32 {
		i := e.Take(0)
		*e.Key(i) = k
		copy(e.Shares(i)[:], shares)
		return i
	}
	for _, c := range []struct {
		name          string
		rule          ranking.Rule
		first, second int32
	}{
		{"less use first", ranking.ByUse, take(ranking.Key{Ratio: 1, Seq: 2}), take(ranking.Key{Ratio: 2, Seq: 1})},
		{"of equal use the larger capacity", ranking.ByUse, take(ranking.Key{Capacity: 2, Seq: 2}), take(ranking.Key{Capacity: 1, Seq: 1})},
		{"use takes no note of priority", ranking.ByUse, take(ranking.Key{Seq: 1}), take(ranking.Key{Seq: 2, Priority: 1})},
		{"below the guarantee first", ranking.ByPriorityAndUse, take(ranking.Key{Seq: 2}), take(ranking.Key{Rank: 1, Priority: 9, Seq: 1})},
		{"then by priority", ranking.ByPriorityAndUse, take(ranking.Key{Priority: 2, Ratio: 1, Seq: 2}), take(ranking.Key{Priority: 1, Seq: 1})},
		{"by priority", ranking.ByPriority, take(ranking.Key{Priority: 2, Seq: 2}), take(ranking.Key{Priority: 1, Seq: 1})},
		{"then by submission", ranking.ByPriority, take(ranking.Key{Seq: 1}), take(ranking.Key{Seq: 2})},
		{"starved ones first", ranking.ByFairness, take(ranking.Key{Ratio: 9, Seq: 2}), take(ranking.Key{Rank: 1, Seq: 1})},
		{"then by ratio", ranking.ByFairness, take(ranking.Key{Ratio: 1, Seq: 2}), take(ranking.Key{Ratio: 2, Capacity: 9, Seq: 1})},
		{"of an equal ratio the larger capacity", ranking.ByFairness, take(ranking.Key{Ratio: 1, Capacity: 2, Seq: 2}), take(ranking.Key{Ratio: 1, Capacity: 1, Seq: 1})},
		{"of equal capacities the earlier", ranking.ByFairness, take(ranking.Key{Ratio: 1, Capacity: 2, Seq: 1}), take(ranking.Key{Ratio: 1, Capacity: 2, Seq: 2})},
		{"less memory first", ranking.ByAppUse, take(ranking.Key{Ratio: 1, Seq: 2}), take(ranking.Key{Ratio: 2, Seq: 1})},
		{"dominant shares, the largest first", ranking.ByDominance, take(ranking.Key{Seq: 2}, 0.5, 0.1), take(ranking.Key{Seq: 1}, 0.5, 0.2)},
		{"starved ones before dominant shares", ranking.ByDominance, take(ranking.Key{Seq: 2}, 0.9), take(ranking.Key{Rank: 1, Seq: 1}, 0.1)},
		{"place alone", ranking.ByPlace, take(ranking.Key{Seq: 1, Ratio: 9}), take(ranking.Key{Seq: 2})},
		{"never comes last", ranking.ByPriority, take(ranking.Key{Seq: 1 << 40, Priority: -9}), take(ranking.Never)},
	} {
		if !e.Less(c.rule, c.first, c.second) || e.Less(c.rule, c.second, c.first) {
			t.Errorf("%s: it is the other way round", c.name)
		}
	}
}
