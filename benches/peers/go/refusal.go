package main

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
)

// refused is why a line did nothing.
type refused struct {
	code codes.Code
	text string
}

func (r refused) Error() string { return r.text }

func refusef(code codes.Code, format string, arguments ...any) error {
	return refused{code, fmt.Sprintf(format, arguments...)}
}

func codeOf(err error) codes.Code {
	var refused refused
	if errors.As(err, &refused) {
		return refused.code
	}
	return codes.InvalidArgument
}

func refusal(code codes.Code, text string) string {
	name := map[codes.Code]string{codes.NotFound: "NOT_FOUND", codes.AlreadyExists: "ALREADY_EXISTS"}[code]
	if name == "" {
		name = "INVALID_ARGUMENT"
	}
	return fmt.Sprintf("error %s %s", name, text)
}
