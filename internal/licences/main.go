// Command licences writes docs/licences.md: the modules that the binary contains, with the texts of their licences, which ask to go with it.
//
//	go run ./internal/licences > docs/licences.md
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if err := write(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

// module is one of those that the binary contains.
type module struct {
	path, version string
	files         []string // licence, notice and grant of patents
}

// write writes the page.
func write(w io.Writer) error {
	modules, err := contained()
	if err != nil {
		return err
	}
	table, texts := &bytes.Buffer{}, map[string][]string{} // by text: the modules that have it
	for _, m := range modules {
		var kinds []string
		for _, name := range m.files {
			b, err := os.ReadFile(name)
			if err != nil {
				return fmt.Errorf("%s: %w", m.path, err)
			}
			text := plain(string(b))
			texts[text] = append(texts[text], m.path)
			kinds = append(kinds, kindsOf(text)...)
		}
		if len(kinds) == 0 {
			return fmt.Errorf("%s %s has no licence that is known here: look at its files %v", m.path, m.version, m.files)
		}
		fmt.Fprintf(table, "| %s | %s | %s |\n", m.path, m.version, strings.Join(slices.Compact(slices.Sorted(slices.Values(kinds))), ", "))
	}
	fmt.Fprintf(w, "# Licences of what the binary contains\n\nThis page is made from `go.mod` by `go run ./internal/licences > docs/licences.md`; a test compares it. "+
		"Give it to others with the binary.\nGo's standard library has the licence of golang.org/x/sys.\n\n| module | version | licence |\n|---|---|---|\n%s\n## Texts\n", table)
	for _, text := range slices.SortedFunc(maps.Keys(texts), func(a, b string) int { return strings.Compare(texts[a][0]+a, texts[b][0]+b) }) {
		fmt.Fprintf(w, "\n%s:\n\n```\n%s\n```\n", strings.Join(texts[text], ", "), text)
	}
	return nil
}

// contained lists the modules with packages in the binary for Linux.
func contained() ([]module, error) {
	c := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}|{{.Version}}|{{.Dir}}{{end}}{{end}}", "heddle/cmd/heddle")
	c.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	out, err := c.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return nil, fmt.Errorf("%v: %w: %s", c, err, exit.Stderr)
		}
		return nil, fmt.Errorf("%v: %w", c, err)
	}
	lines := strings.Fields(string(out))
	slices.Sort(lines)
	var modules []module
	for _, line := range slices.Compact(lines) {
		f := strings.Split(line, "|")
		m := module{path: f[0], version: f[1]}
		entries, err := os.ReadDir(f[2])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.path, err)
		}
		for _, e := range entries {
			if legal.MatchString(e.Name()) {
				m.files = append(m.files, filepath.Join(f[2], e.Name()))
			}
		}
		modules = append(modules, m)
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, fmt.Errorf("the folder of this module: %w", err)
	}
	return append(modules, module{"uplot (npm; in the web pages)", "1.6.32", []string{filepath.Join(strings.TrimSpace(string(root)), "webui/static/vendor/uPlot.LICENSE.txt")}}), nil
}

var legal = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)(\.\w+)?$`)

// kindsOf names the licences in a text by what only they say.
func kindsOf(text string) (kinds []string) {
	text = strings.Join(strings.Fields(text), " ")
	has := func(s string) bool { return strings.Contains(text, s) }
	if has("TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION") || has("Licensed under the Apache License, Version 2.0") {
		kinds = append(kinds, "Apache-2.0")
	}
	if has("Mozilla Public License") {
		kinds = append(kinds, "MPL-2.0")
	}
	if has("Redistribution and use in source and binary forms") {
		kinds = append(kinds, "BSD-3-Clause")
	}
	if has("Permission is hereby granted, free of charge") {
		kinds = append(kinds, "MIT")
	}
	return kinds
}

// plain returns a text without spaces at the ends of its lines, and with fences that can't end the page's own.
func plain(text string) string {
	lines := strings.Split(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "```", "'''"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t\f")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
