package eunomia_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"
	"pgregory.net/rapid"

	"heddle/rm/scheduler/policy/eunomia"
	"heddle/yarn/records"
)

// problem is an allocation of one kind of task for each user, with slots as the only resource.
type problem struct {
	slots  []float64 // by node
	speed  []float64 // by node
	may    [][]bool  // by user and node
	weight []float64 // by user
	size   []float64 // of a user's tasks, in slots
	alone  []float64 // by user: the denominator of equation 5.1
}

func (p *problem) finish() {
	p.alone = make([]float64, len(p.may))
	for u := range p.may {
		for m := range p.slots {
			p.alone[u] += math.Floor(p.slots[m]/p.size[u]) * p.speed[m] * p.weight[u]
		}
	}
}

// solve maximises S, the share of the active users, while the others keep their progress (equation 5.2). The text has them keep their number
// of tasks, which may move to slower nodes then. It returns S and the progress of all.
func (p *problem) solve(active map[int]bool, frozen []float64) (s float64, progress []float64, err error) {
	users, nodes := len(p.may), len(p.slots)
	at := func(u, m int) int { return u*nodes + m }
	share := users * nodes
	columns := share + 1 + nodes // with the slack of each node
	rows := users + nodes
	a, b := mat.NewDense(rows, columns, nil), make([]float64, rows)
	for u := range users {
		for m := range nodes {
			if p.may[u][m] {
				a.Set(u, at(u, m), p.speed[m])
			}
		}
		if active[u] {
			a.Set(u, share, -p.alone[u])
		} else {
			b[u] = frozen[u]
		}
	}
	for m := range nodes {
		for u := range users {
			a.Set(users+m, at(u, m), p.size[u])
		}
		a.Set(users+m, share+1+m, 1)
		b[users+m] = p.slots[m]
	}
	c := make([]float64, columns)
	c[share] = -1
	_, x, err := lp.Simplex(c, a, b, 1e-10, nil)
	if err != nil {
		return 0, nil, err
	}
	progress = make([]float64, users)
	for u := range users {
		for m := range nodes {
			if p.may[u][m] {
				progress[u] += x[at(u, m)] * p.speed[m]
			}
		}
	}
	return x[share], progress, nil
}

// fill is algorithm 1 of the text by its meaning: in each round it raises the share of all active users as far as possible, and freezes
// those that could get no more even alone. (Line 10 as printed tests the old active set, and lines 18 to 32 mix up u and v.)
func (p *problem) fill() ([]float64, error) {
	active := map[int]bool{}
	for u := range p.may {
		active[u] = true
	}
	progress := make([]float64, len(p.may))
	for len(active) > 0 {
		s, now, err := p.solve(active, progress)
		if err != nil {
			return nil, err
		}
		for u := range active {
			now[u] = s * p.alone[u]
		}
		var saturated []int
		for u := range active {
			more, _, err := p.solve(map[int]bool{u: true}, now)
			if err != nil {
				return nil, err
			}
			if more <= s+1e-7*max(1, s) {
				saturated = append(saturated, u)
			}
		}
		if len(saturated) == 0 {
			for u := range active {
				saturated = append(saturated, u)
			}
		}
		progress = now
		for _, u := range saturated {
			delete(active, u)
		}
	}
	for u := range progress {
		progress[u] /= p.alone[u]
	}
	return progress, nil
}

// Seed 000, figure 5.3 and the three phases of micro-benchmark 1.
func TestReference(t *testing.T) {
	text := func(slots float64, may ...[]int) *problem {
		p := &problem{speed: []float64{1, 1.5, 2, 3}}
		for range p.speed {
			p.slots = append(p.slots, 5*slots)
		}
		for _, kinds := range may {
			row := make([]bool, 4)
			for _, k := range kinds {
				row[k-1] = true
			}
			p.may, p.weight, p.size = append(p.may, row), append(p.weight, 1), append(p.size, 1)
		}
		return p
	}
	all := []int{1, 2, 3, 4}
	for name, c := range map[string]struct {
		*problem
		want []float64
	}{
		"Alice and Bob": {&problem{
			slots: []float64{2, 2, 2}, speed: []float64{1, 1, 2}, may: [][]bool{{true, true, false}, {false, true, true}},
			weight: []float64{1, 1}, size: []float64{1, 1},
		}, []float64{.5, .5}},
		"J1 and J2":          {text(4, all, []int{2, 3, 4}), []float64{.5, .5}},
		"J1, J3 and J4":      {text(4, all, []int{3, 4}, []int{4}), []float64{1. / 3, 1. / 3, 1. / 3}},
		"J1 and J4":          {text(4, all, []int{4}), []float64{.6, .4}},
		"a false constraint": {text(4, all, all, all, []int{4}), []float64{.25, .25, .25, .25}},
	} {
		c.finish()
		got, err := c.fill()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for u, want := range c.want {
			if math.Abs(got[u]-want) > 1e-6 {
				t.Errorf("%s: user %d has %.4f, want %.4f", name, u, got[u], want)
			}
		}
	}
}

// shares runs jobs of many tasks of a second, as a problem has them, and returns what shares they have in the mean once all have settled.
func shares(t *rapid.T, nodes []nodeSpec, p *problem) []float64 {
	var jobs []job
	for _, row := range p.may {
		j := job{tasks: 2000, length: 1000, size: records.NewResource(1, 1)}
		if slices.Contains(row, false) {
			for m, may := range row {
				if may {
					j.hosts = append(j.hosts, nodes[m].host)
				}
			}
		}
		jobs = append(jobs, j)
	}
	w := newWorld(t, eunomia.Name, nodes, jobs)
	w.spread, w.until = .3, 15000
	sums, n := make([]float64, len(jobs)), 0.
	w.observe = func(now int64) {
		if now < 5000 || now > 15000 {
			return
		}
		n++
		for i := range sums {
			sums[i] += w.share(i)
		}
	}
	w.run()
	for i := range sums {
		sums[i] /= n
	}
	return sums
}

// What runs comes to the reference, within a task of each user on each node that jobs share: of two with the same progress the earlier one has the next
// slot, so that a tie there costs the other a task, and who shares another node with that one loses a task to it.
func TestOnlineComesToTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, hosts := []nodeSpec(nil), []string{"a", "b", "c", "d"}[:rapid.IntRange(1, 4).Draw(t, "nodes")]
		p := &problem{}
		for _, h := range hosts {
			slots, speed := rapid.Int64Range(4, 12).Draw(t, "slots"), rapid.SampledFrom([]float64{1, 1.5, 2, 3}).Draw(t, "speed")
			nodes = append(nodes, nodeSpec{h, speed, records.NewResource(slots, slots)})
			p.slots, p.speed = append(p.slots, float64(slots)), append(p.speed, speed)
		}
		for range rapid.IntRange(1, 4).Draw(t, "jobs") {
			row, some := make([]bool, len(hosts)), false
			for m := range row {
				row[m] = rapid.Bool().Draw(t, "may")
				some = some || row[m]
			}
			if !some {
				row = slices.Repeat([]bool{true}, len(hosts))
			}
			p.may, p.weight, p.size = append(p.may, row), append(p.weight, 1), append(p.size, 1)
		}
		p.finish()
		want, err := p.fill()
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range shares(t, nodes, p) {
			if task := slices.Max(p.speed) / p.alone[i]; got < want[i]-(float64(len(hosts))+.1)*task {
				t.Errorf("job %d has %.3f of its progress alone, the reference %.3f of %v, and a task is %.3f", i, got, want[i], want, task)
			}
		}
	})
}

// Strategy-proofness (section 5.3 of the text): a job that says falsely that it can't use some nodes has no larger share for it, neither by the reference nor, within a task,
// by what runs. With TSF it would have: TestMicroBenchmark2.
func TestAFalseConstraintNeverHelps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, hosts := []nodeSpec(nil), []string{"a", "b", "c", "d"}[:rapid.IntRange(2, 4).Draw(t, "nodes")]
		p := &problem{}
		for _, h := range hosts {
			slots, speed := rapid.Int64Range(4, 12).Draw(t, "slots"), rapid.SampledFrom([]float64{1, 1.5, 2, 3}).Draw(t, "speed")
			nodes = append(nodes, nodeSpec{h, speed, records.NewResource(slots, slots)})
			p.slots, p.speed = append(p.slots, float64(slots)), append(p.speed, speed)
		}
		drawn := func(among []bool, name string) []bool {
			row, some := make([]bool, len(hosts)), false
			for m := range row {
				row[m] = among[m] && rapid.Bool().Draw(t, name)
				some = some || row[m]
			}
			if !some {
				return among
			}
			return row
		}
		all := slices.Repeat([]bool{true}, len(hosts))
		for range rapid.IntRange(2, 4).Draw(t, "jobs") {
			p.may, p.weight, p.size = append(p.may, drawn(all, "may")), append(p.weight, 1), append(p.size, 1)
		}
		p.finish()
		first := func() (reference, runs float64) {
			want, err := p.fill()
			if err != nil {
				t.Fatal(err)
			}
			return want[0], shares(t, nodes, p)[0]
		}
		honest, honestly := first()
		p.may[0] = drawn(p.may[0], "says")
		lying, falsely := first()
		if lying > honest+1e-6 {
			t.Fatalf("the reference gives %v for a false constraint, and %v without it", lying, honest)
		}
		if task := slices.Max(p.speed) / p.alone[0]; falsely > max(honestly, honest)+1.1*task {
			t.Errorf("with a false constraint it has %.3f, without it %.3f; the reference is %.3f, and a task is %.3f", falsely, honestly, honest, task)
		}
	})
}
