package main

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"sync/atomic"
)

const (
	boundary  = "nodegate-bench"
	smallFile = 4 << 10
	stretch   = 1 << 20 // what is written at a time
	stampGap  = 4 << 10
)

// source makes random content that was never there before. Making it must cost
// next to nothing, so the same random stretch is sent again and again, with a stamp
// in each 4 KiB of it: no two blocks of any chunker are equal.
type source struct {
	base []byte
	last atomic.Uint64
}

func newSource() *source {
	s := &source{base: make([]byte, stretch)}
	_, _ = rand.Read(s.base) // never fails
	return s
}

// upload is a multipart body of files of one size. A nil upload is no body.
type upload struct {
	source *source
	files  int
	length int64  // of each file
	first  uint64 // number of the first file, part of its stamps
}

// new makes an upload of files that were never there before.
func (s *source) new(files int, length int64) *upload {
	last := s.last.Add(uint64(files))
	return &upload{source: s, files: files, length: length, first: last - uint64(files)}
}

const closing = "--" + boundary + "--\r\n"

func partHead(n int) string {
	return fmt.Sprintf("--%s\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f%06d\"\r\nContent-Type: application/octet-stream\r\n\r\n", boundary, n)
}

func (u *upload) size() int64 {
	if u == nil {
		return 0
	}
	return int64(u.files)*(int64(len(partHead(0)))+u.length+int64(len("\r\n"))) + int64(len(closing))
}

// writeTo writes the whole body.
func (u *upload) writeTo(w io.Writer) error {
	if u == nil {
		return nil
	}
	stretch := make([]byte, min(len(u.source.base), int(u.length)))
	copy(stretch, u.source.base)
	for n := range u.files {
		if _, err := io.WriteString(w, partHead(n)); err != nil {
			return err
		}
		if err := writeFile(w, stretch, u.length, u.first+uint64(n)); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "\r\n"); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, closing)
	return err
}

// writeFile writes one file, stamping the stretch again each time.
func writeFile(w io.Writer, stretch []byte, length int64, number uint64) error {
	for at := int64(0); at < length; at += int64(len(stretch)) {
		piece := stretch[:min(int64(len(stretch)), length-at)]
		for i := 0; i+16 <= len(piece); i += stampGap {
			binary.LittleEndian.PutUint64(piece[i:], number)
			binary.LittleEndian.PutUint64(piece[i+8:], uint64(at)+uint64(i))
		}
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return nil
}
