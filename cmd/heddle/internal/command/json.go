package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/plain"
	"heddle/yarn/records"
)

// api is the prefix of the ResourceManager's REST API in YARN.
const api = "/ws/v1/cluster"

// printREST prints an answer of the ResourceManager's REST API.
func (s *session) printREST(path string, query url.Values) error {
	c, err := s.cluster()
	if err != nil {
		return err
	}
	body, err := c.Get(s, path, query)
	if err != nil {
		return err
	}
	return s.printJSON(body)
}

// printJSON prints JSON with indentation. It fails if body isn't JSON.
func (s *session) printJSON(body []byte) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(body), "", "  "); err != nil {
		return fmt.Errorf("the answer is not JSON: %w", err)
	}
	b.WriteByte('\n')
	_, err := io.WriteString(s.out, plain.JSON(b.String()))
	return err
}

// printValue prints one of our own values as JSON.
func (s *session) printValue(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(s.out, plain.JSON(b.String()))
	return err
}

// appPath returns an application's path in the REST API.
func appPath(id records.ApplicationID) string { return api + "/apps/" + id.String() }

// attemptPath returns an attempt's path in the REST API.
func attemptPath(id records.AttemptID) string { return appPath(id.App) + "/appattempts/" + id.String() }

// isNotFound reports whether REST says that something doesn't exist.
func isNotFound(err error) bool { return cluster.IsStatus(err, http.StatusNotFound) }
