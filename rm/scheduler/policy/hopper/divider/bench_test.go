package divider

import (
	"fmt"
	"testing"
)

// A division of all jobs of a leaf, which happens at most ten times a second.
func BenchmarkDivide(b *testing.B) {
	for _, n := range []int{4, 100, 10_000} {
		for _, kinds := range []int{1, 3} {
			b.Run(fmt.Sprintf("jobs=%d/kinds=%d", n, kinds), func(b *testing.B) {
				list := make([]Job, n)
				for i := range list {
					list[i] = Job{Tasks: float64(1 + i*7919%1000), Size: 1, Alpha: float64(1 + i%kinds), Beta: 1.2 + .1*float64(i%kinds)}
				}
				var d Divider
				b.ReportAllocs()
				for b.Loop() {
					d.Divide(list, float64(20*n), .1)
					d.Round(float64(20 * n))
				}
			})
		}
	}
}
