module heddle

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	google.golang.org/protobuf v1.36.12
	pgregory.net/rapid v1.3.0
)

require (
	github.com/sirupsen/logrus v1.10.2
	go.uber.org/goleak v1.3.0
	golang.org/x/sys v0.49.0
)
