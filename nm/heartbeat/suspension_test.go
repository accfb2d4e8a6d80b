package heartbeat

import "testing"

// A change of a quarter is worth a word, unless the container is small.
func TestChangesOfMemoryThatAreTold(t *testing.T) {
	const mb = 1 << 20
	for x, want := range map[[2]int64]bool{
		{0, 15 * mb}: false, {0, 16 * mb}: true, {15 * mb, 0}: false, {1000 * mb, 1249 * mb}: false, {1000 * mb, 1250 * mb}: true,
		{1000 * mb, 751 * mb}: false, {1000 * mb, 750 * mb}: true, {20 * mb, 30 * mb}: false, {5 * mb, 5 * mb}: false,
	} {
		if differs(x[0], x[1]) != want {
			t.Errorf("from %d to %d MB", x[0]/mb, x[1]/mb)
		}
	}
}
