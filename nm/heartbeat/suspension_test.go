package heartbeat

import (
	"testing"

	"heddle/yarn/records"
)

// The first figure is worth a word, and later a change of a quarter, unless the container is small.
func TestChangesOfMemoryThatAreTold(t *testing.T) {
	const mb = 1 << 20
	var id records.ContainerID
	if !isNews(nil, id, 5*mb) {
		t.Error("of a container that uses 5 MB the ResourceManager would think that it uses all that it holds")
	}
	for x, want := range map[[2]int64]bool{
		{0, 15 * mb}: false, {0, 16 * mb}: true, {15 * mb, 0}: false, {1000 * mb, 1249 * mb}: false, {1000 * mb, 1250 * mb}: true,
		{1000 * mb, 751 * mb}: false, {1000 * mb, 750 * mb}: true, {20 * mb, 30 * mb}: false, {5 * mb, 5 * mb}: false,
	} {
		if isNews(map[records.ContainerID]int64{id: x[0]}, id, x[1]) != want {
			t.Errorf("from %d to %d MB", x[0]/mb, x[1]/mb)
		}
	}
}
