package frameworks

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

//go:embed testdata/pig.xml
var pigPOM []byte

const pigScript = `
lines = LOAD '/pig/in' AS (line:chararray);
words = FOREACH lines GENERATE FLATTEN(TOKENIZE(line)) AS word;
groups = GROUP words BY word PARALLEL 2;
counts = FOREACH groups GENERATE group AS word, COUNT(words) AS n;
sorted = ORDER counts BY n DESC, word PARALLEL 2;
STORE sorted INTO '/pig/sorted';
tags = LOAD '/pig/tags' AS (word:chararray, tag:chararray);
joined = JOIN counts BY word, tags BY word USING 'replicated';
STORE joined INTO '/pig/joined';
`

// TestPig runs a script of several jobs, some beside each other and some that read what others wrote. Pig asks the history
// server about each that has ended.
func TestPig(t *testing.T) {
	l := lab.Lab(t)
	jars, err := hadooplab.Maven(t.Context(), "pig", pigPOM)
	if err != nil {
		t.Fatal("fetching Pig: ", err)
	}
	in, counts := text(500, 11)
	l.Put(t, "/pig/in", in)
	words := strings.Fields(counts)
	tags := map[string]string{words[0]: "first", words[20]: "eleventh"}
	var table string
	for word, tag := range tags {
		table += word + "\t" + tag + "\n"
	}
	l.Put(t, "/pig/tags", table)
	dir := t.TempDir()
	script := filepath.Join(dir, "script.pig")
	if err := os.WriteFile(script, []byte(pigScript), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := behind(l, dir, []string{jars}, "org.apache.pig.Main", "-x", "mapreduce", script)
	cmd.Dir = dir
	r := succeed(t, l, cmd)
	contains(t, r.Stdout+r.Stderr, "Success!", fmt.Sprintf(`Successfully stored %d records`, strings.Count(counts, "\n")))

	number := func(line string) int {
		_, n, _ := strings.Cut(strings.TrimSpace(line), "\t")
		i, err := strconv.Atoi(n)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	want := strings.SplitAfter(strings.TrimSuffix(counts, "\n"), "\n")
	want[len(want)-1] += "\n"
	slices.SortStableFunc(want, func(a, b string) int { return number(b) - number(a) })
	got, err := l.Run(t.Context(), "hdfs", "dfs", "-cat", "/pig/sorted/part-r-*")
	if err != nil {
		t.Fatal(err)
	}
	sameCounts(t, got, strings.Join(want, ""))
	var joined string
	for _, line := range want {
		for word, tag := range tags {
			if strings.HasPrefix(line, word+"\t") {
				joined += strings.TrimSpace(line) + "\t" + word + "\t" + tag + "\n"
			}
		}
	}
	if got := lines(t, l, "/pig/joined/part-*"); got != inOrder(joined) {
		t.Errorf("%q, want %q", got, joined)
	}
}
