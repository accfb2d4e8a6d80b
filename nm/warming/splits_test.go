package warming

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"heddle/internal/userfiles"
	"heddle/yarn/records"
	"heddle/yarn/writable"
)

func recorded(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The files in testdata are those of wordcount (mapreduce) and of a streaming job (mapred) of Hadoop 3.4.2, over one file with blocks of 1 MiB.
func TestSplitsOfHadoopsJobs(t *testing.T) {
	const block, file = 1 << 20, "hdfs://localhost:23020/in/words.txt"
	for _, api := range []string{"mapreduce", "mapred"} {
		got, err := Splits(recorded(t, api+".splitmetainfo"), recorded(t, api+".split"))
		if err != nil || len(got) != 4 {
			t.Fatalf("%s: %d splits, %v", api, len(got), err)
		}
		for i, s := range got {
			if s.File != file || s.Offset != int64(i)*block || i < 3 && s.Length != block || !slices.Equal(s.Hosts, []string{"localhost"}) {
				t.Errorf("%s: split %d is %+v", api, i, s)
			}
		}
		if last := got[3].Offset + got[3].Length; last != 3377196 {
			t.Errorf("%s: the splits end at %d", api, last)
		}
	}
}

// list is a job.splitmetainfo with entries at places of job.split.
func list(n int, at ...int64) []byte {
	b := writable.AppendVLong(writable.AppendVLong(slices.Clone(listHeader), formatVersion), int64(n))
	for _, at := range at {
		b = writable.AppendText(writable.AppendVLong(b, 1), "h")
		b = writable.AppendVLong(writable.AppendVLong(b, at), 10)
	}
	return b
}

// split is a job.split with one split, at 7.
func split(class, file string, numbers ...byte) []byte {
	b := append(slices.Clone(splitHeader), 0, 0, 0, 1)
	b = writable.AppendText(writable.AppendText(b, class), file)
	for _, n := range numbers {
		b = append(b, n, 0, 0, 0, 0, 0, 0, 1)
	}
	return b
}

func TestSplitsOfOtherKindsHaveNoFile(t *testing.T) {
	got, err := Splits(list(1, 7), split("org.example.RowSplit", "anything"))
	if err != nil || len(got) != 1 || got[0].File != "" || !slices.Equal(got[0].Hosts, []string{"h"}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWrongSplits(t *testing.T) {
	const class = "org.apache.hadoop.mapred.FileSplit"
	good := split(class, "/f", 0, 0)
	if _, err := Splits(list(1, 7), good); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		list, split []byte
		want        string
	}{
		"no list":            {nil, good, "META-SPL"},
		"no splits":          {list(1, 7), []byte("PK"), `"SPL"`},
		"another version":    {append(slices.Clone(listHeader), 2, 0), good, "version 2"},
		"fewer than none":    {list(-1), good, "-1 splits"},
		"more than there is": {list(2, 7), good, "split 1"},
		"beyond the end":     {list(1, 1000), good, "at 1000"},
		"before the start":   {list(1, -1), good, "at -1"},
		"negative offset":    {list(1, 7), split(class, "/f", 0x80, 0), "not in the format"},
		"negative length":    {list(1, 7), split(class, "/f", 0, 0x80), "not in the format"},
		"overflow":           {list(1, 7), split(class, "/f", 0x7f, 0x7f), "not in the format"},
		"cut off":            {list(1, 7), split(class, "/f", 0), "split 0"},
		"a long name":        {list(1, 7), split(class, strings.Repeat("x", maxName+1), 0, 0), "not in the format"},
	} {
		if got, err := Splits(c.list, c.split); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
}

// However many names a job has, a heartbeat can carry them.
func TestNamesOfAJobAreBounded(t *testing.T) {
	splits := slices.Clone(splitHeader)
	var at []int64
	for i := range 2000 {
		at = append(at, int64(len(splits)))
		splits = writable.AppendText(writable.AppendText(splits, "org.apache.hadoop.mapred.FileSplit"), fmt.Sprintf("/%d%s", i, strings.Repeat("x", 1000)))
		splits = append(splits, make([]byte, 16)...)
	}
	got, err := Splits(list(len(at), at...), splits)
	if err != nil || len(got) < 1000 || len(got) > maxNames/1000 {
		t.Errorf("%d splits, %v", len(got), err)
	}
}

func FuzzSplits(f *testing.F) {
	for _, api := range []string{"mapreduce", "mapred"} {
		f.Add(recorded(f, api+".splitmetainfo"), recorded(f, api+".split"))
	}
	f.Add(list(1, 7), split("org.apache.hadoop.mapred.FileSplit", "/f", 0, 0))
	f.Fuzz(func(t *testing.T, list, splits []byte) {
		got, err := Splits(list, splits)
		if err != nil {
			return
		}
		if len(got) > MaxSplits || len(got) > len(list) {
			t.Errorf("%d splits of %d bytes", len(got), len(list))
		}
		for _, s := range got {
			if s.Offset < 0 || s.Length < 0 || s.Offset+s.Length < 0 || len(s.File) > maxName || len(s.Hosts) > maxLocations {
				t.Errorf("%+v", s)
			}
			if s.File != "" && !bytes.Contains(splits, []byte(s.File)) {
				t.Errorf("%q comes from nowhere", s.File)
			}
		}
	})
}

// What a user leaves in place of its job's files is read with the user's rights, if at all.
func TestOnlyTheUsersOwnFilesAreRead(t *testing.T) {
	base := t.TempDir()
	place := func(name string, data []byte) string {
		path := filepath.Join(base, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	app := records.ApplicationID{ClusterTimestamp: 1, ID: 1}
	files := Resources{place("list", recorded(t, "mapred.splitmetainfo")), place("split", recorded(t, "mapred.split"))}
	in, err := ReadJob(app, files, []string{base}, os.Getuid())
	if err != nil || in == nil || len(in.Splits) != 4 || in.App != app {
		t.Fatalf("%+v, %v", in, err)
	}
	if _, err := ReadJob(app, files, []string{base}, os.Getuid()+1); !errors.Is(err, userfiles.ErrOwner) {
		t.Errorf("somebody else's: %v", err)
	}
	if _, err := ReadJob(app, files, []string{t.TempDir()}, os.Getuid()); err == nil {
		t.Error("files outside of the local folders are read")
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(files.Splits, link); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadJob(app, Resources{files.List, link}, []string{base}, os.Getuid()); err == nil {
		t.Error("a link is followed")
	}
	if err := os.Truncate(files.Splits, maxListSize+1); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadJob(app, files, []string{base}, os.Getuid()); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a file without end: %v", err)
	}
}

// However many jobs start at once, the files of two are in memory at a time.
func TestJobsAreReadTwoAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := New(generous)
		gone := Resources{"/nowhere/list", "/nowhere/split"}
		if _, err := w.Read(t.Context(), appID(1), gone, nil, 0); err == nil || !strings.Contains(err.Error(), "local folder") {
			t.Errorf("%v", err)
		}
		for range jobsRead {
			w.reading <- struct{}{}
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		for range 100 {
			go func() {
				_, err := w.Read(ctx, appID(1), gone, nil, 0)
				done <- err
			}()
		}
		synctest.Wait()
		select {
		case err := <-done:
			t.Errorf("a third job was read: %v", err)
		default:
		}
		<-w.reading
		if err := <-done; err == nil || !strings.Contains(err.Error(), "local folder") {
			t.Errorf("%v", err)
		}
		cancel()
		for range 99 {
			<-done
		}
	})
}
