package oci

import (
	"fmt"
	"io"

	"heddle/internal/bounded"
)

// Described returns an image by its config alone. layer opens a layer's tar archive by its place, and closer what that needs.
func Described(config []byte, layer func(at int) (io.ReadCloser, error), closer io.Closer) (*Image, error) {
	c, ids, err := parseConfig(config, -1)
	if err != nil {
		return nil, err
	}
	i := &Image{Config: c, closer: closer}
	for at := range ids {
		i.Layers = append(i.Layers, Layer{DiffID: ids[at], Open: func() (io.ReadCloser, error) { return layer(at) }})
	}
	return i, nil
}

// OpenSaved opens the only image of an archive of docker's.
func OpenSaved(path string) (*Image, error) {
	f, err := bounded.Open(path)
	if err != nil {
		return nil, err
	}
	a := &archive{file: f}
	i, err := onlyOf(a)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("the archive of an image: %w", err)
	}
	return i, nil
}

func onlyOf(a *archive) (i *Image, err error) {
	if a.members, err = index(a.file); err != nil {
		return nil, err
	}
	text, err := readAll(a, "manifest.json", "")
	if err != nil {
		return nil, err
	}
	all, err := parseSaved(text)
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("it has %d images", len(all))
	}
	if err != nil {
		return nil, err
	}
	return readSaved(a, text, Name{})
}
