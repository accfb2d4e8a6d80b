package sched_test

import (
	"fmt"
	"math/rand/v2"

	"heddle/am/sched"
)

// A job of two tasks probes four of eight nodes. Those that ask first get the tasks; one fails, and runs again.
func Example() {
	s := sched.New(sched.Config{Ratio: 2}, rand.New(rand.NewPCG(1, 2)))
	s.SetNodes([]sched.Node{0, 1, 2, 3, 4, 5, 6, 7}, nil)
	job, probed := s.Submit(0, sched.Job{Tasks: 2})
	nodes := append([]sched.Node(nil), probed...) // the slice is good until the next call
	fmt.Println("probes:", len(nodes))
	for _, n := range nodes {
		s.Answered(job, n, true, sched.Bitmap{})
	}
	for i, n := range nodes[:3] { // they have room
		if a := s.Ask(0, job, sched.Asking{Node: n}); a.Kind == sched.Task {
			fmt.Printf("node %d of those that ask runs task %d\n", i+1, a.Task)
		} else {
			fmt.Printf("node %d of those that ask gets none\n", i+1)
		}
	}
	fmt.Println("done:", s.Finished(job, 0, nodes[0]).Done)
	fmt.Println("probes for the one that failed:", len(s.Failed(job, 1, nodes[1])))
	again := s.Ask(0, job, sched.Asking{Node: nodes[3]})
	fmt.Println("it runs again:", again.Kind == sched.Task && again.Task == 1)
	fmt.Println("done:", s.Finished(job, 1, nodes[3]).Done)
	// Output:
	// probes: 4
	// node 1 of those that ask runs task 0
	// node 2 of those that ask runs task 1
	// node 3 of those that ask gets none
	// done: false
	// probes for the one that failed: 2
	// it runs again: true
	// done: true
}
