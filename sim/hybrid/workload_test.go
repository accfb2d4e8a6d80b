package hybrid

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"heddle/sim"
	"heddle/sim/trace"
)

// workload is a trace with the shape of Yahoo's: one job of ten is long, and those have most of the work. It keeps some 400 workers busy, in
// bursts. The figures in testdata are for this text, so that a change here needs new ones.
func workload(t testing.TB, jobs int) []sim.Job {
	all, err := trace.Read(strings.NewReader(workloadText(jobs)), trace.Options{Format: "hawk"})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func workloadText(jobs int) string {
	rng := rand.New(rand.NewPCG(1729, 0))
	around := func(median, spread float64) float64 { return median * math.Exp(spread*rng.NormFloat64()) }
	var text strings.Builder
	at := 1000.
	for n := range jobs {
		mean, tasks := min(around(15, 1), 90), int(min(1+around(8, 1.2), 400))
		if rng.IntN(10) == 0 {
			mean, tasks = 91+around(200, .8), int(min(10+around(50, 1), 600))
		}
		durations := make([]float64, tasks)
		sum := 0.
		for i := range durations {
			durations[i] = around(mean, .3)
			sum += durations[i]
		}
		fmt.Fprintf(&text, "%.3f %d %.3f", at, tasks, sum/float64(tasks))
		for _, d := range durations {
			fmt.Fprintf(&text, " %.3f", d)
		}
		text.WriteString("\n")
		if n%7 != 3 { // else the next one comes at the same time
			at = math.Floor(at + rng.ExpFloat64()*[]float64{7, 16}[n/100%2])
		}
	}
	return text.String()
}
