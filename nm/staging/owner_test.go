package staging_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"heddle/nm/staging"
)

// full is a node whose RAM disk of 100 bytes the user 1, of the lowest priority, has filled with ten inputs of the job 1, while user 2 has the job 2 with
// ten inputs.
func full(t *testing.T) *node {
	n := newNode(t, staging.Config{Concurrent: 3, Capacity: 100, Named: true}, 1)
	ten := slices.Repeat([]int64{10}, 10)
	n.Probed(1, tableOf(ten...))
	n.Own(1, 1, -1)
	n.Probed(2, tableOf(ten...))
	n.Own(2, 2, 0)
	for task := range int32(10) {
		n.Wanted(1, task, false)
	}
	for n.step(); len(n.copies) > 0; {
		n.finish(true)
	}
	if got := n.of(1); got != 10 {
		t.Fatalf("a user alone has %d copies", got)
	}
	return n
}

// of counts the copies of a job.
func (n *node) of(job staging.Job) int { return len(n.Staged(job, nil)) }

func TestNobodyKeepsTheWholeRAMDisk(t *testing.T) {
	n := full(t)
	for task := range int32(10) {
		n.Wanted(2, task, false)
		n.Wanted(1, task, false) // what goes is wanted again at once
	}
	for n.step(); len(n.copies) > 0; {
		n.finish(true)
		for task := range int32(10) {
			n.Wanted(1, task, false)
		}
		n.step()
	}
	if first, second := n.of(1), n.of(2); first != 5 || second != 5 || n.Used() != 100 || len(n.disk) != 10 {
		t.Errorf("%d and %d copies, %d bytes and %d files", first, second, n.Used(), len(n.disk))
	}
}

// What a task reads stays, and what can't make room enough isn't removed for nothing.
func TestCopiesThatAreReadAreNobodysRoom(t *testing.T) {
	n := full(t)
	for task := range int32(9) {
		n.Took(1, task, tableOf(slices.Repeat([]int64{10}, 10)...))
	}
	n.Probed(3, tableOf(20, 10))
	n.Own(3, 3, 0)
	n.Wanted(3, 0, false)
	n.step()
	if len(n.copies) != 0 || n.of(1) != 1 {
		t.Errorf("%v is copied, and %d copies are left to read", n.copies, n.of(1))
	}
	n.Wanted(3, 1, false)
	n.step().finish(true)
	if n.of(3) != 1 || n.of(1) != 0 || len(n.disk) != 10 {
		t.Errorf("%d copies, of the other %d", n.of(3), n.of(1))
	}
}

// The first turn is that of the highest priority, and then of those who have the least in memory, whatever was asked for first.
func TestCopiesAreMadeInTurnOfUsers(t *testing.T) {
	n := newNode(t, staging.Config{Concurrent: 1, Capacity: 1000, Named: true}, 1)
	priorities := []int32{0, 0, 7}
	for i, priority := range priorities {
		id := staging.Job(i + 1)
		n.Probed(id, tableOf(10, 10))
		n.Own(id, int32(i+1), priority)
		n.Wanted(id, 0, false)
		n.Wanted(id, 1, false)
	}
	var order []staging.Job
	for n.step(); len(n.copies) > 0; n.finish(true) {
		order = append(order, n.copies[0].Job)
	}
	if want := []staging.Job{3, 3, 1, 2, 1, 2}; !slices.Equal(order, want) {
		t.Errorf("%v, not %v", order, want)
	}
}

// Whatever comes and goes, the sums are right, and a user whose requests fit in his share has room.
func TestSharesHoldWhateverHappens(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 9))
		n := newNode(t, staging.Config{Concurrent: 2, Capacity: 100, Named: true}, 1)
		tables := map[staging.Job]*table{}
		for i := range 6 {
			id := staging.Job(i + 1)
			tables[id] = tableOf(slices.Repeat([]int64{int64(1 + rng.IntN(20))}, 20)...)
			n.Probed(id, tables[id])
			n.Own(id, int32(i%3), int32(i%2))
		}
		for range 2000 {
			id, task := staging.Job(1+rng.IntN(6)), int32(rng.IntN(20))
			switch rng.IntN(6) {
			case 0:
				n.Took(id, task, tables[id])
				tables[id].started[task] = true
			case 1:
				n.Read(id, task)
			case 2:
				n.Ended(id, task)
				delete(tables[id].started, task)
			case 3:
				n.step().finish(rng.IntN(9) > 0)
			default:
				n.Wanted(id, task, rng.IntN(5) == 0)
			}
			n.step()
			if n.Used() > 100 || n.Used() < 0 {
				t.Fatalf("seed %d: %d bytes are used", seed, n.Used())
			}
		}
		for id := range tables {
			n.Released(id)
		}
		for n.step(); len(n.copies) > 0; {
			n.finish(true)
		}
		if n.Used() != 0 || len(n.disk) != 0 || n.Waiting() {
			t.Fatalf("seed %d: %d bytes and %d files are left", seed, n.Used(), len(n.disk))
		}
		if took, room := n.Soon(100, 1); took != 1 || !room {
			t.Fatalf("seed %d: a copy would be made in %d, and there is room: %v", seed, took, room)
		}
	}
}
