package tabs_test

import (
	"context"
	"os"
	"testing"
	"time"

	"heddle/integration/load/tabs"
	"heddle/integration/minicluster"
	"heddle/rm"
)

// Tabs ask what the page asks, all of which is answered.
func TestTabs(t *testing.T) {
	c := minicluster.Start(t, 1, nil)
	c.Node(minicluster.NodeOptions{})
	open := tabs.Open(t.Context(), "http://"+c.Conf.Text(rm.WebAddress), 5)
	c.Until("tabs ask", func() bool { return open.Bytes() > 1000 })
	c.Node(minicluster.NodeOptions{}) // an event has all refresh
	before := open.Bytes()
	begun := time.Now()
	c.Until("an event has tabs ask again", func() bool { return open.Bytes() > before+1000 })
	if _, err := open.Close(); err != nil {
		t.Error(err)
	}
	t.Logf("after %v", time.Since(begun))
	broken := tabs.Open(t.Context(), "http://127.0.0.1:1", 1)
	c.Until("a question fails", func() bool { return broken.Failed() > 0 })
	if _, err := broken.Close(); err == nil {
		t.Error("no error of a ResourceManager that doesn't answer")
	}
}

// served is the address at which this program, as a process of its own, has tabs open.
const served = "HEDDLE_TABS_AT"

func TestMain(m *testing.M) {
	if at := os.Getenv(served); at != "" {
		if err := tabs.Serve(context.Background(), os.Stdin, os.Stdout, at, 3); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Tabs of another process say how much they have got, and that a question failed.
func TestTabsOfAnotherProcess(t *testing.T) {
	c := minicluster.Start(t, 1, nil)
	start := func(at string) *tabs.Process {
		t.Setenv(served, at)
		p, err := tabs.Start(t.Context(), []string{os.Args[0]})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	open := start("http://" + c.Conf.Text(rm.WebAddress))
	c.Until("tabs ask", func() bool {
		n, err := open.Bytes()
		return err != nil || n > 1000
	})
	if n, err := open.Bytes(); err != nil || n <= 1000 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if err := open.Close(); err != nil {
		t.Error(err)
	}
	c.Until("tabs that get no answer say so at the end", func() bool {
		broken := start("http://127.0.0.1:1")
		_, _ = broken.Bytes()
		return broken.Close() != nil
	})
}
