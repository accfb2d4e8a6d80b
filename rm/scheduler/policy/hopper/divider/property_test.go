package divider

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// rate is μ of a job with so many slots (equation 3.3, in whose first case the text prints T for S), in tasks per mean duration.
func rate(slots, tasks, beta float64) float64 {
	if Virtual(tasks, beta, 1) >= slots {
		return beta * beta / (4 * (beta - 1)) * slots
	}
	return beta/(beta-1)*tasks - tasks*tasks/((beta-1)*slots)
}

// Equation 3.1 with the k of equation 3.4 is equation 3.3. E[τ]/E[min of k] of Pareto times is β/(β−1)·(kβ−1)/(kβ).
func TestRateIsThatOfTheBestNumberOfCopies(t *testing.T) {
	service := func(slots, tasks, beta, k float64) float64 {
		return min(slots, tasks*k) * beta / (beta - 1) * (k*beta - 1) / (k * beta) / k
	}
	rapid.Check(t, func(t *rapid.T) {
		beta, tasks, slots := rapid.Float64Range(1.05, 1.95).Draw(t, "beta"), rapid.Float64Range(1, 50).Draw(t, "tasks"), rapid.Float64Range(1, 200).Draw(t, "slots")
		k := 2 / beta
		if Virtual(tasks, beta, 1) < slots {
			k = slots / tasks
		}
		got, want := rate(slots, tasks, beta), service(slots, tasks, beta, k)
		if math.Abs(got-want) > 1e-9*want {
			t.Fatalf("rate %v, want %v with %v copies", got, want, k)
		}
		if other := service(slots, tasks, beta, rapid.Float64Range(1, 10).Draw(t, "k")); other > want*(1+1e-9) {
			t.Fatalf("%v copies give %v, less than %v", k, want, other)
		}
	})
}

// anyJobs draws jobs of some classes and weights.
func anyJobs(t *rapid.T, betas, alphas []float64, sizes ...float64) []Job {
	list := make([]Job, rapid.IntRange(1, 8).Draw(t, "jobs"))
	for i := range list {
		list[i] = Job{
			Tasks: float64(rapid.IntRange(1, 40).Draw(t, "tasks")), Size: rapid.SampledFrom(append([]float64{1}, sizes...)).Draw(t, "size"),
			Alpha: rapid.SampledFrom(alphas).Draw(t, "alpha"), Beta: rapid.SampledFrom(betas).Draw(t, "beta"),
		}
	}
	return list
}

func equal(a, b []Job) bool {
	return slices.EqualFunc(a, b, func(x, y Job) bool { return math.Abs(x.Slots-y.Slots) <= 1e-6 })
}

func TestEqualWeightsReduceAlgorithm3To1(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := anyJobs(t, []float64{1.4}, []float64{rapid.Float64Range(.1, 10).Draw(t, "weight of all")})
		slots := rapid.Float64Range(1, 300).Draw(t, "slots")
		phases, plain := slices.Clone(list), slices.Clone(list)
		var d Divider
		d.Phases(phases, slots)
		d.Guidelines(plain, slots)
		if !equal(phases, plain) {
			t.Fatalf("algorithm 3: %+v, algorithm 1: %+v", phases, plain)
		}
	})
}

// phasesAsPrinted is algorithm 3 where weights differ, written down without a short cut for equal ones, with k_min mended.
func phasesAsPrinted(list []Job, slots float64) {
	var d Divider
	d.sort(list)
	v := func(i int) float64 { j := &list[d.ranking[i]]; return Virtual(j.Tasks, j.Beta, j.Alpha) }
	a := func(k int) float64 { // α_min of the first k
		least := math.Inf(1)
		for _, i := range d.ranking[:min(k, len(list))] {
			least = min(least, list[i].Alpha)
		}
		return least
	}
	sum := func(k int) (s float64) {
		for i := range min(k, len(list)) {
			s += v(i)
		}
		return s
	}
	for i := range list {
		list[i].Slots = 0
	}
	set := func(i int, s float64) { list[d.ranking[i]].Slots = s }
	n := len(list)
	if slots <= sum(1)/math.Sqrt(a(2)) {
		set(0, slots)
		return
	}
	for k := 1; k < n; k++ {
		switch {
		case sum(k)/math.Sqrt(a(k+1)) < slots && slots <= sum(k+1)/math.Sqrt(a(k+1)):
			least, behind := -1, []int{}
			for i := range k + 1 {
				if list[d.ranking[i]].Alpha == a(k+1) {
					least = i
				}
			}
			differ := slices.ContainsFunc(d.ranking[:k+1], func(i int32) bool { return list[i].Alpha > a(k+1) })
			for i := range k + 1 {
				if !differ || i != least {
					behind = append(behind, i)
				}
			}
			if differ {
				behind = append(behind, least)
			}
			left := slots
			for _, i := range behind {
				got := min(left, v(i)/math.Sqrt(a(k+1)))
				set(i, got)
				left -= got
			}
			return
		case k < n-1 && sum(k+1)/math.Sqrt(a(k+1)) < slots && slots <= sum(k+1)/math.Sqrt(a(k+2)):
			for i := range k + 1 {
				set(i, v(i)/sum(k+1)*slots)
			}
			return
		}
	}
	for i := range n {
		set(i, v(i)/sum(n)*slots)
	}
}

func TestAlgorithm3AsPrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := anyJobs(t, []float64{1.4}, []float64{.5, 1, 4})
		slots := rapid.Float64Range(1, 300).Draw(t, "slots")
		phases, printed := slices.Clone(list), slices.Clone(list)
		var d Divider
		d.Phases(phases, slots)
		phasesAsPrinted(printed, slots)
		if !equal(phases, printed) {
			t.Fatalf("got %+v, as printed %+v", phases, printed)
		}
	})
}

func TestNoFloorIsAlgorithm1(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := anyJobs(t, []float64{1.4}, []float64{1})
		slots := rapid.Float64Range(1, 300).Draw(t, "slots")
		fair, plain := slices.Clone(list), slices.Clone(list)
		var d Divider
		d.Fair(fair, slots, 1)
		d.Guidelines(plain, slots)
		if !equal(fair, plain) {
			t.Fatalf("algorithm 2 with ε = 1: %+v, algorithm 1: %+v", fair, plain)
		}
	})
}

func TestProjectionIsAlgorithm2(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := anyJobs(t, []float64{1.4}, []float64{1})
		slots, e := rapid.Float64Range(1, 300).Draw(t, "slots"), rapid.Float64Range(0, 1).Draw(t, "epsilon")
		fair, projected := slices.Clone(list), slices.Clone(list)
		var d Divider
		d.Fair(fair, slots, e)
		d.sort(projected)
		d.project(slots, Floor(slots, len(list), e))
		if !equal(fair, projected) {
			t.Fatalf("algorithm 2: %+v, projected: %+v", fair, projected)
		}
	})
}

// Slots are divided, nobody has less than the floor, and weights count by their ratios only.
func TestAnyDivision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := anyJobs(t, []float64{1.05, 1.2, 1.4, 1.95}, []float64{.1, 1, 1.5, 10}, .5, 2, 3)
		slots, e := rapid.Float64Range(.5, 300).Draw(t, "slots"), rapid.Float64Range(0, 1).Draw(t, "epsilon")
		var d Divider
		order := d.Divide(list, slots, e)
		if !slices.IsSortedFunc(order, func(a, b int32) int {
			if list[a].Key() < list[b].Key() {
				return -1
			}
			return 0
		}) {
			t.Fatalf("order %v of %+v", order, list)
		}
		floor := Floor(slots, len(list), e)
		d.Round(slots)
		sum, whole := 0., 0.
		for _, j := range list {
			if j.Slots < floor-1e-9 || float64(j.Containers) < math.Floor(floor/j.Size-1e-6) {
				t.Fatalf("%v slots (%d containers), the floor is %v: %+v", j.Slots, j.Containers, floor, list)
			}
			sum += j.Slots
			whole += float64(j.Containers) * j.Size
		}
		if math.Abs(sum-slots) > 1e-6 || whole > slots+1e-6 {
			t.Fatalf("of %v slots %v are given, %v in containers: %+v", slots, sum, whole, list)
		}
	})
}

func TestCommonFactorOfWeightsChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := anyJobs(t, []float64{1.2, 1.4, 1.8}, []float64{1, 1.5, 3})
		slots, e := rapid.Float64Range(1, 300).Draw(t, "slots"), rapid.Float64Range(0, 1).Draw(t, "epsilon")
		scaled := slices.Clone(list)
		for i := range scaled {
			scaled[i].Alpha *= 2 // all are at least 1, so that the order stays
		}
		var d Divider
		d.Divide(list, slots, e)
		d.Divide(scaled, slots, e)
		if !equal(list, scaled) {
			t.Fatalf("%+v, with twice the weights %+v", list, scaled)
		}
	})
}

// each calls a function with all ways to divide whole slots among n jobs that get at least so many each.
func each(slots, n int, least []int, try func([]int)) {
	given := make([]int, n)
	var next func(i, left int)
	next = func(i, left int) {
		if i == n-1 {
			if given[i] = left; left >= least[i] {
				try(given)
			}
			return
		}
		for given[i] = least[i]; given[i] <= left; given[i]++ {
			next(i+1, left-given[i])
		}
	}
	next(0, slots)
}

// Theorems 1 and 2: no division in whole slots has a larger throughput, also none with at least the floor. Of those that have the same one,
// algorithm 1 takes the one that gives the smallest jobs most. Virtual sizes are whole.
func TestNoOtherDivisionIsBetter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const beta = 4. / 3 // virtual sizes are 1.5·T
		n := rapid.IntRange(1, 4).Draw(t, "jobs")
		list := make([]Job, n)
		for i := range list {
			list[i] = Job{Tasks: 2 * float64(rapid.IntRange(1, 6).Draw(t, "half of the tasks")), Size: 1, Alpha: 1, Beta: beta}
		}
		slots := rapid.IntRange(n, 30).Draw(t, "slots")
		e := rapid.SampledFrom([]float64{1, .5, .1, 0}).Draw(t, "epsilon")
		slices.SortFunc(list, func(a, b Job) int { return int(a.Tasks - b.Tasks) })
		var d Divider
		d.Fair(list, float64(slots), e)
		mine, least := 0., make([]int, n)
		for i, j := range list {
			mine += rate(j.Slots, j.Tasks, beta)
			least[i] = int(math.Ceil(Floor(float64(slots), n, e) - 1e-9))
		}
		best, first := 0., []int(nil)
		each(slots, n, least, func(given []int) {
			sum := 0.
			for i, s := range given {
				if s > 0 {
					sum += rate(float64(s), list[i].Tasks, beta)
				}
			}
			switch {
			case sum > best+1e-9:
				best, first = sum, slices.Clone(given)
			case sum > best-1e-9 && slices.Compare(given, first) > 0:
				first = slices.Clone(given)
			}
		})
		if mine < best-1e-9 {
			t.Fatalf("%d slots, ε = %v: %+v has %v, %v has %v", slots, e, list, mine, first, best)
		}
		whole := !slices.ContainsFunc(list, func(j Job) bool { return j.Slots != math.Floor(j.Slots) })
		if e == 1 && whole {
			for i, j := range list {
				if int(j.Slots) != first[i] {
					t.Fatalf("%d slots: %+v, by trying all it is %v", slots, list, first)
				}
			}
		}
	})
}

// Theorem 3: with classes of β, neither.
func TestNoOtherDivisionAmongClassesIsBetter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := make([]Job, rapid.IntRange(2, 4).Draw(t, "jobs"))
		for i := range list {
			list[i] = Job{
				Tasks: float64(rapid.IntRange(1, 10).Draw(t, "tasks")), Size: 1, Alpha: 1, Beta: rapid.SampledFrom([]float64{1.2, 1.5, 1.8}).Draw(t, "beta"),
			}
		}
		slots := rapid.IntRange(1, 30).Draw(t, "slots")
		var d Divider
		d.Classes(list, float64(slots))
		mine := 0.
		for _, j := range list {
			if j.Slots > 0 {
				mine += rate(j.Slots, j.Tasks, j.Beta)
			}
		}
		each(slots, len(list), make([]int, len(list)), func(given []int) {
			sum := 0.
			for i, s := range given {
				if s > 0 {
					sum += rate(float64(s), list[i].Tasks, list[i].Beta)
				}
			}
			if sum > mine+1e-9 {
				t.Fatalf("%d slots: %+v has %v, %v has %v", slots, list, mine, given, sum)
			}
		})
	})
}

// Whatever order a division begins with, and however it finds the largest remainders, the result is that of sorting all.
func TestDivisionsAfterEachOtherAreThoseByThemselves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d Divider
		list := anyJobs(t, []float64{1.2, 1.4}, []float64{1, 2}, 1)
		for step := range 6 {
			for range rapid.IntRange(0, 3).Draw(t, "changes") {
				i := rapid.IntRange(0, len(list)-1).Draw(t, "job")
				switch rapid.IntRange(0, 3).Draw(t, "kind") {
				case 0:
					list[i] = list[len(list)-1]
					list = list[:max(1, len(list)-1)]
				case 1:
					list = append(list, anyJobs(t, []float64{1.2, 1.4}, []float64{1, 2}, 1, 2)...)
				default:
					list[i].Tasks = float64(rapid.IntRange(1, 40).Draw(t, "tasks"))
				}
			}
			for i := range list {
				list[i].Seq = rapid.Int64Range(0, 3).Draw(t, "seq")
			}
			slots, e := rapid.Float64Range(1, 300).Draw(t, "slots"), rapid.Float64Range(0, 1).Draw(t, "epsilon")
			alone := slices.Clone(list)
			order := slices.Clone(d.Divide(list, slots, e))
			d.Round(slots)
			var other Divider
			if want := other.Divide(alone, slots, e); !slices.Equal(order, want) {
				t.Fatalf("step %d: the order is %v, by itself %v", step, order, want)
			}
			roundBySorting(&other, slots)
			if !slices.Equal(list, alone) {
				t.Fatalf("step %d: %+v, by itself %+v", step, list, alone)
			}
		}
	})
}

// roundBySorting is Round by its definition.
func roundBySorting(d *Divider, slots float64) {
	left := slots
	all := []place{}
	for k, i := range d.ranking {
		j := &d.jobs[i]
		whole := j.Slots / j.Size
		j.Containers = int64(math.Floor(whole + tiny))
		left -= float64(j.Containers) * j.Size
		if remainder := math.Round((whole - float64(j.Containers)) / tiny); remainder > 0 {
			all = append(all, place{first: -remainder, at: int32(k)})
		}
	}
	slices.SortFunc(all, place.before)
	for _, p := range all {
		if j := &d.jobs[d.ranking[p.at]]; j.Size <= left+tiny*j.Size {
			j.Containers++
			left -= j.Size
		}
	}
}
