//! The fields of one transcript line that matter here. Everything else is skipped without being kept, and a field
//! of another type than expected counts as absent: versions differ, and none of this text is trusted.

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// One line. Unknown types are whole lines too.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Line<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Any<'a>,
    #[serde(borrow)]
    pub(super) subtype: Any<'a>,
    #[serde(borrow)]
    pub(super) cwd: Any<'a>,
    #[serde(borrow)]
    pub(super) timestamp: Any<'a>,
    #[serde(borrow)]
    pub(super) version: Any<'a>,
    #[serde(borrow)]
    pub(super) git_branch: Any<'a>,
    #[serde(borrow)]
    pub(super) entrypoint: Any<'a>,
    #[serde(borrow)]
    pub(super) permission_mode: Any<'a>,
    #[serde(borrow)]
    pub(super) mode: Any<'a>,
    #[serde(borrow)]
    pub(super) last_prompt: Any<'a>,
    #[serde(borrow)]
    pub(super) custom_title: Any<'a>,
    #[serde(borrow)]
    pub(super) continued_in_session_id: Any<'a>,
    #[serde(borrow)]
    pub(super) is_sidechain: Any<'a>,
    #[serde(borrow)]
    pub(super) is_meta: Any<'a>,
    #[serde(borrow)]
    pub(super) is_compact_summary: Any<'a>,
    #[serde(borrow)]
    pub(super) is_api_error_message: Any<'a>,
    #[serde(borrow, deserialize_with = "map_or_nothing")]
    pub(super) message: Message<'a>,
}

impl Line<'_> {
    /// A message of a person or the agent in this very conversation.
    pub(super) fn is_conversation(&self) -> bool {
        self.is_message() && !self.is_sidechain.flag() && !self.is_meta.flag()
    }

    /// A message of anyone, sub-agents among them.
    pub(super) fn is_message(&self) -> bool {
        matches!(self.kind.text(), Some("user" | "assistant"))
    }
}

/// The message within a conversation line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) model: Any<'a>,
    #[serde(borrow)]
    pub(super) stop_reason: Any<'a>,
    #[serde(borrow)]
    pub(super) content: Content<'a>,
}

/// A message's content: a string, or blocks.
#[derive(Debug, Default)]
pub(super) struct Content<'a> {
    /// What it says, its text blocks joined.
    pub(super) text: Option<Cow<'a, str>>,
    /// It holds the result of a tool.
    pub(super) tool_result: bool,
}

/// A string, a truth value, or anything else, which is not kept.
#[derive(Debug, Default)]
pub(super) enum Any<'a> {
    /// Not there, or of no use.
    #[default]
    Absent,
    Flag(bool),
    Text(Cow<'a, str>),
}

impl Any<'_> {
    pub(super) fn flag(&self) -> bool {
        matches!(self, Self::Flag(true))
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text unless it is empty.
    pub(super) fn some_text(&self) -> Option<&str> {
        self.text().filter(|text| !text.is_empty())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Block<'a> {
    #[serde(rename = "type", borrow)]
    kind: Any<'a>,
    #[serde(borrow)]
    text: Any<'a>,
}

/// Gives what stands for "absent" when a value is of a type that is not wanted.
macro_rules! absent_when {
    ($($what:ident),*) => { $(absent_when!(@ $what);)* };
    (@ str) => { fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> { Ok(Self::Value::default()) } };
    (@ bool) => { fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> { Ok(Self::Value::default()) } };
    (@ number) => {
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> { Ok(Self::Value::default()) }
    };
    (@ null) => { fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok(Self::Value::default()) } };
    (@ map) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
    (@ list) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
    (@ name) => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str("anything") }
    };
}

impl<'de: 'a, 'a> Deserialize<'de> for Any<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lenient;
        impl<'de> Visitor<'de> for Lenient {
            type Value = Any<'de>;
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Any<'de>, E> {
                Ok(Any::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Any<'de>, E> {
                Ok(Any::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_bool<E>(self, flag: bool) -> Result<Any<'de>, E> {
                Ok(Any::Flag(flag))
            }
            absent_when!(name, number, null, map, list);
        }
        deserializer.deserialize_any(Lenient)
    }
}

/// Reads an object of the wanted type, or its default where something else stands.
fn map_or_nothing<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    struct Lenient<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for Lenient<T> {
        type Value = T;
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map))
        }
        absent_when!(name, str, bool, number, null, list);
    }
    deserializer.deserialize_any(Lenient(PhantomData))
}

/// A block within a list, leniently.
struct MaybeBlock<'a>(Block<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for MaybeBlock<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        map_or_nothing(deserializer).map(Self)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lenient;
        impl<'de> Visitor<'de> for Lenient {
            type Value = Content<'de>;
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Content<'de>, E> {
                Ok(Content { text: Some(Cow::Borrowed(text)), tool_result: false })
            }
            fn visit_str<E>(self, text: &str) -> Result<Content<'de>, E> {
                Ok(Content { text: Some(Cow::Owned(text.to_owned())), tool_result: false })
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Content<'de>, A::Error> {
                let mut content = Content::default();
                while let Some(MaybeBlock(block)) = list.next_element()? {
                    match (block.kind.text(), block.text) {
                        (Some("tool_result"), _) => content.tool_result = true,
                        (Some("text"), Any::Text(text)) => match &mut content.text {
                            Some(before) => {
                                before.to_mut().push('\n');
                                before.to_mut().push_str(&text);
                            }
                            none => *none = Some(text),
                        },
                        _ => {}
                    }
                }
                Ok(content)
            }
            absent_when!(name, bool, number, null, map);
        }
        deserializer.deserialize_any(Lenient)
    }
}
