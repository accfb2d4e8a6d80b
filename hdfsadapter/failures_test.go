package hdfsadapter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// blockFiles finds the files of a DataNode that hold blocks.
func blockFiles(t *testing.T, lab *hadooplab.Lab, dataNode int) []string {
	t.Helper()
	var out []string
	root := filepath.Join(lab.Dir(), fmt.Sprintf("data%d", dataNode))
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), "blk_") && !strings.HasSuffix(path, ".meta") {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Every replica is corrupt in some block, none in all of them: nobody may see a wrong byte.
func TestCorruptReplicasAreNotRead(t *testing.T) {
	_, f, dir := onHDFS(t)
	lab := cluster.Lab(t)
	before := map[string]bool{}
	for i := 1; i <= 2; i++ {
		for _, path := range blockFiles(t, lab, i) {
			before[path] = true
		}
	}
	data := randomBytes(4*(1<<20), 13)
	put(t, f, dir+"/f", data, CreateOptions{BlockSize: 1 << 20, Replication: 2})
	ruined := map[string]bool{} // by block
	for i := 1; i <= 2; i++ {
		for _, path := range blockFiles(t, lab, i) {
			block := filepath.Base(path)
			if before[path] || ruined[block] || (i == 1 && len(ruined) == 2) {
				continue
			}
			file, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := file.WriteAt([]byte("corrupt"), 700_000); err != nil {
				t.Fatal(err)
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
			ruined[block] = true
		}
	}
	if len(ruined) != 4 {
		t.Fatalf("%d blocks were found", len(ruined))
	}
	for _, size := range []int{100, 512, 100_000, 5 << 20} {
		r, err := f.Open(t.Context(), dir+"/f")
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if _, err := io.CopyBuffer(&got, onlyReader{r}, make([]byte, size)); err != nil {
			t.Errorf("reading %d bytes at once: %v", size, err)
		}
		same(t, fmt.Sprintf("reading %d bytes at once", size), got.Bytes(), data)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// onlyReader hides other methods, so that io.CopyBuffer uses its buffer.
type onlyReader struct{ io.Reader }

// A DataNode that dies while a file is read is replaced, in the middle of a block.
func TestDataNodeDiesDuringRead(t *testing.T) {
	_, f, dir := onHDFS(t)
	lab := cluster.Lab(t)
	data := randomBytes(40<<20, 17)
	put(t, f, dir+"/f", data, CreateOptions{BlockSize: 8 << 20, Replication: 2})
	for _, victim := range []string{"datanode1", "datanode2"} {
		r, err := f.Open(t.Context(), dir+"/f")
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 10<<20)
		if _, err := io.ReadFull(r, got); err != nil {
			t.Fatal(err)
		}
		lab.Daemon(victim).Kill()
		rest, err := io.ReadAll(r)
		if err != nil {
			t.Errorf("%s died: %v", victim, err)
		}
		same(t, "after the death of "+victim, append(got, rest...), data)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		// a file opened now is read as well, though the NameNode doesn't know yet
		same(t, "without "+victim, get(t, f, dir+"/f"), data)
		if err := lab.Daemon(victim).Restart(); err != nil {
			t.Fatal(err)
		}
		if err := lab.Daemon(victim).WaitLog(t.Context(), hadooplab.Registered); err != nil {
			t.Fatal(err)
		}
		await.Until(t, "both replicas known", func() bool {
			blocks, err := f.Blocks(t.Context(), dir+"/f", 0, 40<<20)
			return err == nil && !slices.ContainsFunc(blocks, func(b Block) bool { return len(b.Hosts) < 2 })
		})
	}
}

// A DataNode that hangs is given up after dfs.client.socket-timeout.
func TestDataNodeHangsDuringRead(t *testing.T) {
	_, f, dir := onHDFS(t, "dfs.client.socket-timeout=4000")
	lab := cluster.Lab(t)
	data := randomBytes(20<<20, 19)
	put(t, f, dir+"/f", data, CreateOptions{BlockSize: 64 << 20, Replication: 2})
	r, err := f.Open(t.Context(), dir+"/f")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := make([]byte, 1000)
	if _, err := io.ReadFull(r, got); err != nil {
		t.Fatal(err)
	}
	lab.Daemon("datanode1").Pause()
	defer lab.Daemon("datanode1").Resume()
	rest, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "content", append(got, rest...), data)
}

// A read that waits ends with its context, and with Close.
func TestReadsThatWaitCanBeEnded(t *testing.T) {
	_, f, dir := onHDFS(t)
	lab := cluster.Lab(t)
	put(t, f, dir+"/f", randomBytes(30<<20, 23), CreateOptions{BlockSize: 64 << 20, Replication: 2})
	for _, how := range []string{"cancel", "close"} {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := f.Open(ctx, dir+"/f")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		lab.Daemon("datanode1").Pause()
		lab.Daemon("datanode2").Pause()
		done := make(chan error, 1)
		go func() {
			_, err := io.Copy(io.Discard, r)
			done <- err
		}()
		want := context.Canceled
		if how == "cancel" {
			cancel()
		} else {
			want = fs.ErrClosed
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		select {
		case err := <-done:
			if !errors.Is(err, want) {
				t.Errorf("%s: got %v", how, err)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s: the read goes on", how)
		}
		lab.Daemon("datanode1").Resume()
		lab.Daemon("datanode2").Resume()
		cancel()
		_ = r.Close() // perhaps again
	}
}

// DataNodes may confirm blocks long after the next ones have been written.
func TestLateConfirmation(t *testing.T) {
	lab := hadooplab.Start(t, hadooplab.Options{DataNodes: 1, Site: map[string]string{"dfs.blockreport.incremental.intervalMsec": "3000"}})
	f := newAdapter(t, lab.Conf()).As("")
	put(t, f, "/first", []byte("after a confirmation the next one waits"), CreateOptions{Replication: 1})
	want := randomBytes(3<<20+77, 31)
	put(t, f, "/f", want, CreateOptions{BlockSize: 1 << 20, Replication: 1})
	same(t, "what is read", get(t, f, "/f"), want)
}

// Close says that a file is incomplete, and an incomplete file isn't made to look complete.
func TestDataNodeDiesDuringWrite(t *testing.T) {
	_, f, dir := onHDFS(t, "dfs.client.socket-timeout=2000")
	lab := cluster.Lab(t)
	w, err := f.Create(t.Context(), dir+"/f", CreateOptions{BlockSize: 64 << 20, Replication: 2})
	if err != nil {
		t.Fatal(err)
	}
	chunk := randomBytes(1<<20, 29)
	if _, err := w.Write(chunk); err != nil {
		t.Fatal(err)
	}
	lab.Daemon("datanode1").Kill()
	defer func() {
		if err := lab.Daemon("datanode1").Restart(); err != nil {
			t.Fatal(err)
		}
		if err := lab.Daemon("datanode1").WaitLog(t.Context(), hadooplab.Registered); err != nil {
			t.Fatal(err)
		}
	}()
	err = nil
	for i := 0; i < 30 && err == nil; i++ {
		_, err = w.Write(chunk)
	}
	closeErr := w.Close()
	if closeErr == nil {
		t.Errorf("a file of which a part was lost was closed without an error; writing: %v", err)
	}
	if i, err := f.Stat(t.Context(), dir+"/f"); err == nil && i.Size == 31<<20 {
		t.Errorf("the file looks complete: %+v", i)
	}
	// it can be written anew at once
	put(t, f, dir+"/f", chunk, CreateOptions{Overwrite: true, Replication: 1})
	same(t, "anew", get(t, f, dir+"/f"), chunk)
}

// A nameservice goes on when its active NameNode dies.
func TestHighlyAvailableHDFS(t *testing.T) {
	lab := hadooplab.Start(t, hadooplab.Options{DataNodes: 1, NameNodes: 2})
	f := newAdapter(t, lab.Conf()).As("")
	ctx := t.Context()
	data := randomBytes(3<<20, 31)
	put(t, f, "hdfs://lab/a/f", data, CreateOptions{BlockSize: 1 << 20})
	r, err := f.Open(ctx, "/a/f")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := make([]byte, 100)
	if _, err := io.ReadFull(r, got); err != nil {
		t.Fatal(err)
	}

	lab.Daemon("namenode1").Kill()
	stat := make(chan error, 1)
	go func() { stat <- second(f.Stat(ctx, "/a/f")) }() // waits for the other one to become active
	if _, err := lab.Run(ctx, "hdfs", "haadmin", "-failover", "nn1", "nn2"); err != nil {
		t.Fatal(err)
	}
	if err := <-stat; err != nil {
		t.Errorf("stat during the failover: %v", err)
	}
	rest, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "open during the failover", append(got, rest...), data)
	put(t, f, "/a/g", data, CreateOptions{})
	same(t, "written after the failover", get(t, f, "/a/g"), data)
}
