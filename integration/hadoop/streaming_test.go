package hadoop

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

// script writes an executable file and returns its path.
func script(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

const countWords = `#!/usr/bin/env python3
import sys
for line in sys.stdin:
    for word in line.split():
        print(word, 1, sep="\t")
`

const sumUp = `#!/usr/bin/env python3
import itertools, sys
pairs = (line.rstrip("\n").split("\t") for line in sys.stdin)
for word, group in itertools.groupby(pairs, lambda p: p[0]):
    print(word, sum(int(n) for _, n in group), sep="\t")
`

func TestStreaming(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	t.Parallel()
	l := lab.Lab(t)
	in := text(1000)
	l.Put(t, "/streaming/in", in)
	j := succeed(t, l, streaming(t, l), "-files", script(t, "map.py", countWords)+","+script(t, "reduce.py", sumUp),
		"-input", "/streaming/in", "-output", "/streaming/out", "-mapper", "map.py", "-combiner", "reduce.py", "-reducer", "reduce.py")
	if got, want := cat(t, l, "/streaming/out/part-*"), wordCount(in); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	j.counts(t, map[string]int64{"Map input records": 1000, "Map output records": 4000})
}

func TestDistributedCache(t *testing.T) {
	t.Parallel()
	l := lab.Lab(t)
	archive := filepath.Join(t.TempDir(), "packed.zip")
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	w, err := z.Create("in/side.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("from the archive")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	lib, err := l.Jar("hadoop-mapreduce-examples")
	if err != nil {
		t.Fatal(err)
	}
	l.Put(t, "/cache/in", "one line\n")
	l.Put(t, "/cache/shared.txt", "from HDFS")
	const look = `#!/bin/sh
cat >/dev/null
echo "file: $(cat side.txt)"
echo "link: $(cat shared)"
echo "archive: $(cat packed/in/side.txt)"
ls *examples*.jar
`
	succeed(t, l, streaming(t, l), "-Dmapreduce.job.reduces=0",
		"-files", script(t, "look.sh", look)+","+script(t, "side.txt", "from the client")+","+l.URI()+"/cache/shared.txt#shared",
		"-archives", archive+"#packed", "-libjars", lib,
		"-input", "/cache/in", "-output", "/cache/out", "-mapper", "look.sh")
	got := strings.ReplaceAll(cat(t, l, "/cache/out/part-*"), "\t\n", "\n")
	want := "file: from the client\nlink: from HDFS\narchive: from the archive\n" + filepath.Base(lib) + "\n"
	if got != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}

func TestFailingTasks(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	t.Parallel()
	l := lab.Lab(t)
	l.Put(t, "/failing/in", "one line\n")
	mapper := script(t, "first.sh", `#!/bin/sh
case $mapreduce_task_attempt_id in
*_0) echo "not yet" >&2; exit 7;;
esac
cat
`)
	args := []string{"-Dmapreduce.job.reduces=0", "-files", mapper, "-input", "/failing/in", "-mapper", "first.sh", "-output"}
	j := succeed(t, l, streaming(t, l), append(args, "/failing/out")...)
	j.counts(t, map[string]int64{"Failed map tasks": 1, "Launched map tasks": 2})
	if !strings.Contains(j.Stderr, "subprocess failed with code 7") {
		t.Error(j.Stderr)
	}
	if got := cat(t, l, "/failing/out/part-*"); strings.TrimSpace(got) != "one line" {
		t.Errorf("%q", got)
	}
	j = try(t, l, streaming(t, l), append(append([]string{"-Dmapreduce.map.maxattempts=1"}, args...), "/failing/never")...)
	if j.Code != 1 || !strings.Contains(j.Stderr, "Job not successful!") && !strings.Contains(j.Stderr, "failed with state FAILED") {
		t.Errorf("exit code %d\n%s", j.Code, j.Stderr)
	}
	if got := status(t, l, j.app); !strings.Contains(got, "Final-State : FAILED") || !strings.Contains(got, "\tState : FINISHED") {
		t.Error(got)
	}
}
