package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/internal/plain"
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
	if !json.Valid(body) {
		return fmt.Errorf("the answer is not JSON: %q", body[:min(len(body), 200)])
	}
	return s.printValue(json.RawMessage(body))
}

// printValue prints one of our own values as JSON.
func (s *session) printValue(v any) error {
	return plain.WriteJSON(s.out, v)
}

// appPath returns an application's path in the REST API.
func appPath(id records.ApplicationID) string { return api + "/apps/" + id.String() }

// attemptPath returns an attempt's path in the REST API.
func attemptPath(id records.AttemptID) string { return appPath(id.App) + "/appattempts/" + id.String() }

// isNotFound reports whether REST says that something doesn't exist.
func isNotFound(err error) bool { return cluster.IsStatus(err, http.StatusNotFound) }
