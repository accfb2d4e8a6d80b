package mapreduce

import (
	"os"
	"testing"

	"heddle/internal/await"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }
