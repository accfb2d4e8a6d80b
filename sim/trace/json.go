package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"heddle/sim"
)

// objects reads JSON objects, one after the other, and makes jobs of each. It adds the object's line to an error.
func objects[T any](r io.Reader, appendTo func(*T, []sim.Job) ([]sim.Job, error)) ([]sim.Job, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	in := json.NewDecoder(bytes.NewReader(text))
	var jobs []sim.Job
	for {
		before := int(in.InputOffset())
		var given T
		err := in.Decode(&given)
		if errors.Is(err, io.EOF) {
			return jobs, nil
		}
		at := before + len(text[before:]) - len(bytes.TrimLeft(text[before:], " \t\r\n"))
		if err == nil {
			jobs, err = appendTo(&given, jobs)
		} else if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			at = int(syntax.Offset)
		} else if errors.Is(err, io.ErrUnexpectedEOF) {
			at = len(text)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(text[:min(at, len(text))], []byte("\n")), err)
		}
	}
}

// formatOf tells the formats with JSON objects apart, by the first object.
func formatOf(text []byte) string {
	var keys map[string]json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&keys); err != nil {
		return "sls"
	}
	switch {
	case keys["workloads"] != nil:
		return "synth"
	case keys["mapTasks"] != nil || keys["jobID"] != nil:
		return "rumen"
	}
	return "sls"
}
