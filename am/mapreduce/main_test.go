package mapreduce

import (
	"os"
	"testing"

	"heddle/internal/await"
)

func TestMain(m *testing.M) {
	if os.Getenv(coordinates) != "" {
		coordinate()
		return
	}
	os.Exit(await.NoGoroutines(m.Run()))
}
