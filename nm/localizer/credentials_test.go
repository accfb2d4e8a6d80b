package localizer

import (
	"context"
	"io"
	"testing"

	"heddle/yarn/records"
)

// tokenSource remembers with which credentials a file was read.
type tokenSource struct {
	LocalFiles
	borne chan string
}

func (s *tokenSource) Open(ctx context.Context, by Reader, at Location) (io.ReadCloser, error) {
	s.borne <- string(by.Tokens)
	return s.LocalFiles.Open(ctx, by, at)
}

// An application that outlives its token has its files read with the one that the ResourceManager has got meanwhile.
func TestFilesAreReadWithTheNewestCredentials(t *testing.T) {
	src := &tokenSource{borne: make(chan string, 1)}
	n := newNode(t, func(c *Config) {
		c.Source = src
		c.Credentials = func(app records.ApplicationID, brought []byte) []byte {
			return []byte(app.String() + ", not " + string(brought))
		}
	})
	id := records.ContainerID{Attempt: records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 7}, Attempt: 1}, ID: 1}
	r := Request{Container: id, User: "alice", Tokens: []byte("its own"), Resources: map[string]Resource{"x": n.file("x", "text", Application)}}
	if _, err := n.Localize(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got := <-src.borne; got != id.Attempt.App.String()+", not its own" {
		t.Errorf("read with %q", got)
	}
}
