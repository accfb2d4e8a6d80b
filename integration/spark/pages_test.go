package spark

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/browser"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// waiting is a program with a job behind it that waits until a file is gone, so that its pages can be looked at.
const waiting = `
import os, sys, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("looked at").getOrCreate()
spark.sparkContext.parallelize(range(100), 4).map(lambda x: (x %% 3, x)).reduceByKey(lambda a, b: a + b).collect()
open(%[1]q, "w").close()
while os.path.exists(%[1]q):
    time.sleep(0.1)
spark.stop()
`

// Spark's pages work in the proxy's sandbox: their scripts are loaded, and get from Spark's REST API what tables and lists are made of.
func TestPagesInABrowser(t *testing.T) {
	if !onHeddle {
		t.Skip("it is about our proxy")
	}
	l := lab.Lab(t)
	for _, mode := range []string{"client", "cluster"} {
		t.Run(mode, func(t *testing.T) {
			if mode == "cluster" {
				hadooplab.SkipUnlessFull(t) // Nothing differs for the proxy but the driver's host.
			}
			ready := filepath.Join(t.TempDir(), "ready")
			c, id := begin(t, l, "--deploy-mode", mode, "--conf", "spark.ui.enabled=true", "--conf", "spark.ui.port=0",
				program(t, fmt.Sprintf(waiting, ready)))
			await.Slowly(t, "the program waits", func() bool {
				_, err := os.Stat(ready)
				return err == nil || c.Ended()
			})
			look(t, l, id)
			if err := os.Remove(ready); err != nil {
				t.Error(err)
			}
			if a := end(t, c, id); a.Code != 0 {
				t.Errorf("exit code %d\n%s", a.Code, a.Stderr)
			}
		})
	}
}

func look(t *testing.T, l *hadooplab.Lab, id string) {
	t.Helper()
	base := fmt.Sprintf("http://localhost:%d/proxy/%s", l.Port("rm-http"), id)
	for path, want := range map[string][]string{
		"/":                             {"looked at", "Completed Jobs", "collect at", "vis-item"},
		"/stages/":                      {"Completed Stages", "reduceByKey at"},
		"/stages/stage/?id=0&attempt=0": {"Summary Metrics for", "SUCCESS"}, // from the API
		"/environment/":                 {"spark.app.name", "looked at"},
		"/executors/":                   {"Executors", ">driver<"}, // from the API
	} {
		page := browser.Shows(t, base+path, want...)
		if dir := os.Getenv("HEDDLE_TEST_PAGES"); dir != "" {
			_ = os.WriteFile(filepath.Join(dir, id+strings.ReplaceAll(path, "/", "_")+".html"), []byte(page), 0o644)
		}
	}
}
