package auxservices

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"heddle/conf/javaservices"
	"heddle/nm/javahost"
)

// Record is a service as a manifest describes it (Hadoop: AuxServiceRecord).
type Record struct {
	Name       string
	Version    *string // nil: it has none, which is a version as well
	Properties map[string]string
	Files      []javahost.File
}

// Keys of a record's properties that aren't for the service.
const (
	classProperty  = "class.name"
	systemProperty = "system.classes"
	shuffleClass   = "org.apache.hadoop.mapred.ShuffleHandler"
)

// same reports whether a record means the service that runs: other changes than of the version have no effect.
func (r *Record) same(o *Record) bool {
	return r.Name == o.Name && (r.Version == nil) == (o.Version == nil) && (r.Version == nil || *r.Version == *o.Version)
}

// isOwn reports whether Heddle has the service itself.
func (r *Record) isOwn() bool {
	return r.Properties[classProperty] == shuffleClass && len(r.Files) == 0
}

var className = regexp.MustCompile(`^[\pL_$][\pL\pN_$]*(\.[\pL_$][\pL\pN_$]*)*$`)

// check refuses what can't be a service. The name becomes that of a folder, and so does the class.
func (r *Record) check() error {
	class := r.Properties[classProperty]
	switch {
	case len(r.Name) > 100 || !javaservices.IsName(r.Name):
		return fmt.Errorf("the auxiliary service name %.100q is invalid: it should only contain a-zA-Z0-9_ and cannot start with numbers", r.Name)
	case class == "":
		return fmt.Errorf("class name not provided for auxiliary service %s: set %s in the properties of its configuration",
			r.Name, classProperty)
	case len(class) > 200 || !className.MatchString(class):
		return fmt.Errorf("auxiliary service %s: %.200q can't be the name of a class", r.Name, class)
	}
	for _, f := range r.Files {
		if f.Source == "" || f.Type != "STATIC" && f.Type != "ARCHIVE" {
			return fmt.Errorf("auxiliary service %s: a file needs src_file, and a type, STATIC or ARCHIVE; it has %.100q and %.100q", r.Name, f.Source, f.Type)
		}
	}
	return nil
}

// java returns the service for the JVM.
func (r *Record) java() javahost.Service {
	s := javahost.Service{Name: r.Name, Class: r.Properties[classProperty], Files: r.Files}
	s.System = strings.FieldsFunc(r.Properties[systemProperty], func(c rune) bool { return c == ',' })
	for _, key := range slices.Sorted(maps.Keys(r.Properties)) {
		s.Properties = append(s.Properties, key, r.Properties[key])
	}
	return s
}

// Bounds of a list of services. A list of Hadoop's own has a few services, each with a few files.
const (
	MaxList     = 1 << 20 // bytes
	maxServices = 100
	maxFiles    = 100 // of a service
)

// list is the form of a manifest. What it doesn't name is ignored, as by Hadoop.
type list struct {
	Services []struct {
		Name          *string `json:"name"`
		Version       *scalar `json:"version"`
		Configuration struct {
			Properties map[string]*scalar `json:"properties"`
			Files      []struct {
				Source string `json:"src_file"`
				Type   string `json:"type"`
			} `json:"files"`
		} `json:"configuration"`
	} `json:"services"`
}

// scalar is a text, or a number or truth value, which counts as its text.
type scalar string

func (s *scalar) UnmarshalJSON(b []byte) error {
	var text string
	switch b[0] {
	case '"':
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
	case '{', '[':
		return fmt.Errorf("a text is expected, not %.40s", b)
	default:
		text = string(b)
	}
	*s = scalar(text)
	return nil
}

// Decode reads a list of services: a JSON object (Hadoop: AuxServiceRecords).
func Decode(b []byte) ([]Record, error) {
	if len(b) > MaxList {
		return nil, fmt.Errorf("a list of auxiliary services has at most %d bytes, and this one has %d", MaxList, len(b))
	}
	d := json.NewDecoder(bytes.NewReader(b))
	var l list
	if err := d.Decode(&l); err != nil {
		return nil, fmt.Errorf("a list of auxiliary services is a JSON object with services: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("a list of auxiliary services is one JSON object: something comes after it")
	}
	if len(l.Services) > maxServices {
		return nil, fmt.Errorf("a list has at most %d auxiliary services, and this one has %d", maxServices, len(l.Services))
	}
	out := make([]Record, 0, len(l.Services))
	for i, s := range l.Services {
		r := Record{Version: (*string)(s.Version), Properties: map[string]string{}}
		if s.Name != nil {
			r.Name = *s.Name
		}
		for key, value := range s.Configuration.Properties {
			if value != nil {
				r.Properties[key] = string(*value)
			}
		}
		if len(s.Configuration.Files) > maxFiles {
			return nil, fmt.Errorf("auxiliary service %d (%.100s) has %d files, and %d are allowed", i+1, r.Name,
				len(s.Configuration.Files), maxFiles)
		}
		for _, f := range s.Configuration.Files {
			r.Files = append(r.Files, javahost.File{Source: f.Source, Type: f.Type})
		}
		out = append(out, r)
	}
	return out, nil
}

// Names returns the names and versions of services, for messages.
func Names(list []Record) string {
	var all []string
	for _, r := range list {
		name := fmt.Sprintf("%.100q", r.Name)
		if r.Version != nil {
			name += fmt.Sprintf(" %.100q", *r.Version)
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}
