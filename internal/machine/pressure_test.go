package machine

import "testing"

func FuzzParseStall(f *testing.F) {
	f.Add("some avg10=12.50 avg60=1.00 avg300=0.00 total=2644835\nfull avg10=3.25 avg60=0.00 avg300=0.00 total=410865\n")
	f.Add("some avg10=0.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=1 avg60=2 avg300=3 total=1\n")
	f.Add("some avg10=NaN")
	f.Add("some avg10=NaN avg60= avg300")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseStall(text)
		if err != nil {
			return
		}
		if s.AllFull < -1 {
			t.Errorf("%q is read as %+v", text, s)
		}
		for _, means := range []Means{s.Some, s.Full} {
			for _, percent := range means {
				if !(percent >= 0 && percent <= 100) && means != (Means{-1, -1, -1}) {
					t.Errorf("%q is read as %+v", text, s)
				}
			}
		}
	})
}
