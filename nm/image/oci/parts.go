package oci

import "fmt"

// Parts are the texts of an image that isn't in a folder: its manifest and its config.
type Parts struct {
	Manifest []byte `json:"manifest"`
	Config   []byte `json:"config"`
}

// Fetch returns the text that a descriptor names, at most MaxText bytes. Its digest is checked afterwards.
type Fetch func(d Descriptor) ([]byte, error)

// Collect returns the parts of the image whose manifest or index is top. Of an index it takes the first manifest for this machine.
func Collect(top []byte, manifests, configs Fetch) (p Parts, err error) {
	p.Manifest = top
	for range maxDepth {
		m, err := parseManifest(p.Manifest)
		if err != nil {
			return Parts{}, err
		}
		if len(m.Manifests) == 0 {
			p.Config, err = fetched(m.Config, configs)
			return p, err
		}
		d, err := forMachine(m.Manifests)
		if err != nil {
			return Parts{}, err
		}
		if p.Manifest, err = fetched(d, manifests); err != nil {
			return Parts{}, err
		}
	}
	return Parts{}, fmt.Errorf("more than %d indices lead to each other", maxDepth)
}

func fetched(d Descriptor, fetch Fetch) ([]byte, error) {
	digest, err := parseDigest(d.Digest)
	if err != nil {
		return nil, err
	}
	if d.Size < 0 || d.Size > MaxText {
		return nil, fmt.Errorf("%s has %d bytes; at most %d may be there", d.Digest, d.Size, int64(MaxText))
	}
	text, err := fetch(d)
	if err == nil {
		err = CheckDigest(text, digest)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.Digest, err)
	}
	return text, nil
}

func forMachine(all []Descriptor) (Descriptor, error) {
	for _, d := range all {
		if d.runsHere() {
			return d, nil
		}
	}
	return Descriptor{}, fmt.Errorf("none of its %d manifests is for linux and %s", len(all), architecture)
}

// Image returns the image of these parts. layer completes a layer with how it is read.
func (p Parts) Image(layer func(*Layer, Descriptor)) (*Image, error) {
	m, err := parseManifest(p.Manifest)
	if err != nil {
		return nil, err
	}
	for at, d := range m.Layers {
		if d.Size < 0 {
			return nil, fmt.Errorf("layer %d: its size is negative", at+1)
		}
	}
	return m.image(p.Config, layer)
}

// image returns the image of a manifest and its config. layer completes a layer with how it is read.
func (m *manifest) image(config []byte, layer func(*Layer, Descriptor)) (*Image, error) {
	c, ids, err := parseConfig(config, len(m.Layers))
	if err != nil {
		return nil, err
	}
	i := &Image{Config: c}
	for at, d := range m.Layers {
		digest, err := parseDigest(d.Digest)
		if err != nil {
			return nil, fmt.Errorf("layer %d: %w", at+1, err)
		}
		l := Layer{DiffID: ids[at], Digest: digest, Size: d.Size}
		layer(&l, d)
		i.Layers = append(i.Layers, l)
	}
	return i, nil
}
