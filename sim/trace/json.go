package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"heddle/sim"
)

// mostText bounds the bytes of a trace in JSON, which is kept in memory. Compressed data may become a thousand times larger.
const mostText = 4 << 30

// readText reads all of a trace. It refuses more than so many bytes.
func readText(r io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(unmarked(r), most+1))
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("it has more than %d bytes of JSON, unpacked: cut it into several traces", most)
	}
	return text, err
}

// objects reads JSON objects, one after the other, and makes jobs of each. It adds the object's line to an error.
func objects[T any](text []byte, appendTo func(*T, []sim.Job) ([]sim.Job, error)) ([]sim.Job, error) {
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
		} else if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			at, err = before+int(wrong.Offset), mistyped(wrong)
		} else if errors.Is(err, io.ErrUnexpectedEOF) {
			at, err = len(text), errors.New("the file ends within a JSON object")
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(text[:min(at, len(text))], []byte("\n")), err)
		}
	}
}

// mistyped says which field has a value of another type than it should, without words of Go.
func mistyped(e *json.UnmarshalTypeError) error {
	wants := "an object"
	switch e.Type.Kind() {
	case reflect.Float64:
		wants = "a number"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64:
		wants = "an integer within its limits"
	case reflect.String:
		wants = "a string"
	case reflect.Slice:
		wants = "an array"
	}
	if e.Field == "" {
		return fmt.Errorf("has %s, where %s is needed", e.Value, wants)
	}
	return fmt.Errorf("%s: has %s, where %s is needed", e.Field, e.Value, wants)
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
