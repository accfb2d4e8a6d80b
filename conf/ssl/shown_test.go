package ssl

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"testing"
	"time"
)

// A process elsewhere shows the certificates of the one that has the keystore, where the shuffle asks for them.
func TestShownElsewhere(t *testing.T) {
	f := newFolder(t)
	f.core["mapreduce.shuffle.ssl.enabled"], f.core["hadoop.ssl.require.client.cert"] = "true", "true"
	f.ssl["ssl.server.truststore.location"], f.ssl["ssl.server.truststore.password"] = f.dir+"/trust.p12", "trustpass"
	c := f.load()
	here, err := Client(c)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := here.Shown()
	if err != nil || len(shown) == 0 || !Shows(c) {
		t.Fatalf("%d bytes, %v", len(shown), err)
	}
	for _, pem := range [][]byte{shown, append(bytes.Clone(shown), shown...), nil} {
		elsewhere, err := Trusting(c, here.Authorities())
		if err != nil {
			t.Fatal(err)
		}
		if err := elsewhere.Show(pem); err != nil {
			t.Fatal(err)
		}
		s, err := Shuffle(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := asks(elsewhere, serve(t, s)); (err == nil) != (pem != nil) {
			t.Errorf("%d bytes: %v", len(pem), err)
		}
	}
}

// asks gets a page with a trust.
func asks(trust *Trust, url string) error {
	next := trust.Transport()
	next.Proxy = nil
	defer next.CloseIdleConnections()
	resp, err := (&http.Client{Transport: next, Timeout: 10 * time.Second}).Get(url)
	if err == nil {
		resp.Body.Close()
	}
	return err
}

func FuzzShow(f *testing.F) {
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n"))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"))
	f.Add([]byte(" "))
	f.Fuzz(func(t *testing.T, b []byte) {
		trust := &Trust{base: &tls.Config{}}
		if err := trust.Show(b); err == nil && len(trust.base.Certificates) == 0 && len(bytes.TrimSpace(b)) > 0 {
			t.Errorf("%q shows nothing", b)
		}
	})
}
