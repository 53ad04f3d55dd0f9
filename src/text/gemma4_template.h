// What a Gemma 4 template text asks for. Templates are not executed: the layout is code, and the few things in which
// the published revisions differ are read off the text of the file's own template.
#pragma once

#include <string>
#include <string_view>

namespace quern::text {

struct Gemma4Features {
  bool tools = true;
  bool thinking = true;
  bool think_newline = true;  // "<|think|>\n"; launch templates had no newline
  // Thinking off: a closed empty thought in the generation prompt (large models).
  bool empty_thought_at_turn = false;
  bool empty_thought_after_tool = false;
  // Thinking on: the prompt itself opens the thought channel.
  bool open_thought_at_turn = false;
  bool open_thought_after_tool = false;
};

// An empty template gives the defaults above: the layout of the small models.
Gemma4Features ReadGemma4Features(std::string_view chat_template);

// The name of a template that the golden tests cover, by its SHA-256; empty when there is none.
std::string_view TestedTemplateName(std::string_view chat_template);
// "tested: NAME", or a notice that the user should see.
std::string TemplateNotice(std::string_view family, std::string_view chat_template);

}  // namespace quern::text
